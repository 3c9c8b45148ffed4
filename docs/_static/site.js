// Links that cover the pictures of the gallery have no text of their own: name them by the title beside them.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".sphx-glr-thumbcontainer")) {
    const title = box.querySelector(".sphx-glr-thumbnail-title")?.textContent.trim();
    for (const link of box.querySelectorAll("a")) {
      if (title && !link.textContent.trim()) link.setAttribute("aria-label", title);
    }
  }
});
