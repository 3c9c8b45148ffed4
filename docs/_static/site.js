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
  // The arrows that open a section of the navigation have no text either.
  for (const arrow of document.querySelectorAll("summary:not([aria-label])")) {
    const section = arrow.closest("li")?.querySelector("a")?.textContent.trim();
    if (!arrow.textContent.trim()) arrow.setAttribute("aria-label", section ? `Pages of ${section}` : "More pages");
  }
});
