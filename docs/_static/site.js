// Links that cover the pictures of the gallery have no visible text of their own: name them by the title beside them.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".sphx-glr-thumbcontainer")) {
    const title = box.querySelector(".sphx-glr-thumbnail-title")?.textContent.trim();
    for (const link of box.querySelectorAll("a")) {
      if (title) link.setAttribute("aria-label", title);
    }
  }
  // The same for the arrows that open a section of the navigation.
  for (const arrow of document.querySelectorAll("summary:not([aria-label])")) {
    const section = arrow.closest("li")?.querySelector("a")?.textContent.trim();
    if (!arrow.textContent.trim()) arrow.setAttribute("aria-label", section ? `Pages of ${section}` : "More pages");
  }
});
