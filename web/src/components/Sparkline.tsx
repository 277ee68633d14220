/// The last minute as a line of `values` between 0 and 1.
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2) return <span class="spark" />;
  const step = 60 / (values.length - 1);
  const points = values.map((value, i) => `${(i * step).toFixed(1)},${(15 - 14 * Math.min(1, value)).toFixed(1)}`);
  return (
    <svg class="spark" viewBox="0 0 60 16" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="area" d={`M0,16L${points.join("L")}L60,16z`} />
      <path class="line" d={`M${points.join("L")}`} />
    </svg>
  );
}
