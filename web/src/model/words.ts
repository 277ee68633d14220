// A command line into words and back, as a shell does it (quotes and backslashes, no variables).

/// Words, or what is wrong.
export function splitWords(text: string): { words: string[] } | { problem: string } {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i] ?? "";
    if (quote === "'" ? c !== "'" : quote === '"' && c !== '"' && c !== "\\") word += c;
    else if (c === quote) quote = "";
    else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (c === "\\") {
      i += 1;
      if (i >= text.length) return { problem: "a backslash at the end has nothing to protect" };
      word = (word ?? "") + text[i];
    } else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + c;
  }
  if (quote) return { problem: `the quotation mark ${quote} is not closed` };
  if (word !== undefined) words.push(word);
  return { words };
}

export function joinWords(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}
