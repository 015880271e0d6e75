// What scrolls by itself can be scrolled by keys.
for (const box of document.querySelectorAll("main pre code, main .table-wrapper")) {
  new ResizeObserver(() => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }).observe(box);
}
