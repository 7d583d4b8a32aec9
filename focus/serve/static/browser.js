// Proposes the time zone of the browser to a new account, and in the settings.
"use strict";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const proposed = document.getElementById("browser-zone");
if (proposed && zone) {
  if (proposed.tagName === "INPUT") proposed.value = zone;
  else if (document.getElementById("f-zone").value !== zone) {
    proposed.hidden = false;
    proposed.querySelector("strong").textContent = zone;
  }
}
