// Links that cover the pictures of the gallery have no visible text of their own: name them by the title beside them.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".sphx-glr-thumbcontainer")) {
    const title = box.querySelector(".sphx-glr-thumbnail-title")?.textContent.trim();
    for (const link of box.querySelectorAll("a")) {
      if (title) link.setAttribute("aria-label", title);
    }
  }
  // Pictures that scroll on a telephone can be reached by keyboard.
  for (const picture of document.querySelectorAll('.bd-article p > img[src$=".svg"]')) {
    const box = picture.parentElement;
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  // Commands continue on the next line between words, not after the hyphens of an option.
  for (const block of document.querySelectorAll(".highlight-console pre, .highlight-sh pre, .highlight-bash pre")) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      const parts = text.data.split(/((?<!\S)-[\w-]{1,30})/);
      if (parts.length === 1) continue;
      text.replaceWith(...parts.map((part, i) => {
        if (i % 2 === 0) return part;
        const option = document.createElement("span");
        option.className = "option";
        option.textContent = part;
        return option;
      }));
    }
  }
  // The arrows that open a section of the navigation have no text either.
  for (const arrow of document.querySelectorAll("summary:not([aria-label])")) {
    const section = arrow.closest("li")?.querySelector("a")?.textContent.trim();
    if (!arrow.textContent.trim()) arrow.setAttribute("aria-label", section ? `Pages of ${section}` : "More pages");
  }
});
