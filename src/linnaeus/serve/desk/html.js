// The one way to make elements: templates whose values become text nodes or attributes, never markup.
import { h, render } from "./vendor/preact.mjs";
import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/hooks.mjs";
import htm from "./vendor/htm.mjs";

export const html = htm.bind(h);
export { render, useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState };

// Numbers for people.
export const percent = (p, digits = 0) => (p == null ? "–" : `${(100 * p).toFixed(digits)}%`);
export const count = (n) => (n == null ? "–" : n.toLocaleString("en"));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(seconds < 36000 ? 1 : 0)} h`;
}
