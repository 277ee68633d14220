// A canvas as sharp as the screen, drawn again when its size, its theme or its data change.

import { useEffect, useRef } from "preact/hooks";
import { dark } from "../state/theme";

export interface Area {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

export interface CanvasProps {
  /// What it shows, in words.
  label: string;
  class?: string;
  draw: (area: Area) => void;
  onClick?: (event: MouseEvent) => void;
  onPointerMove?: (event: PointerEvent) => void;
  onWheel?: (event: WheelEvent) => void;
}

export function Canvas(props: CanvasProps) {
  const element = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props.draw);
  latest.current = props.draw;
  const theme = dark.value;
  const paint = () => {
    const canvas = element.current;
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return;
    const { width, height } = canvas.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    latest.current({ context, width, height });
  };
  useEffect(() => {
    // After the theme's colours have been set on the document.
    const frame = requestAnimationFrame(paint);
    return () => cancelAnimationFrame(frame);
  }, [props.draw, theme]);
  useEffect(() => {
    const observer = new ResizeObserver(paint);
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return (
    <canvas
      ref={element}
      role="img"
      aria-label={props.label}
      class={props.class}
      onClick={props.onClick}
      onPointerMove={props.onPointerMove}
      onWheel={props.onWheel}
    />
  );
}
