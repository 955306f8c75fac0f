"use strict";
// Light or dark, as chosen on another visit, before anything is drawn.
try {
  const chosen = localStorage.getItem("look");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.look = chosen;
} catch {
  // a browser that keeps nothing
}
