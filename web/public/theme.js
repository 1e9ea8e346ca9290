// Sets the remembered theme before the first paint; the app itself loads too late for that.
try {
  const theme = localStorage.getItem("gpulse.theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system's theme it is.
}
