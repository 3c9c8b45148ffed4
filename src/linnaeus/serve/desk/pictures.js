// Charts that the service draws as SVG; they are parsed as XML, and take their colours from the style sheet.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { desk } from "./api.js";

function Picture({ svg }) {
  const place = useRef(null);
  useLayoutEffect(() => {
    const drawn = new DOMParser().parseFromString(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '), "image/svg+xml").documentElement;
    place.current.replaceChildren(document.importNode(drawn, true));
  }, [svg]);
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Chart" ref=${place}></div>`;
}

export function Pictures() {
  const [found, setFound] = useState([]);
  useEffect(() => {
    let current = true;
    const load = () => desk.pictures().then((a) => current && setFound(a.pictures), () => {});
    load();
    const timer = setInterval(load, 30000);
    return () => ((current = false), clearInterval(timer));
  }, []);
  return found.map((one) => html`<section class="tile picture" key=${one.name}><h2>${one.title}</h2><p class="hint">${one.about}</p><${Picture} svg=${one.svg} /></section>`);
}
