// Registers the worker, and has this browser notified when its reader says so.
"use strict";

const here = document.currentScript.src;
const form = document.getElementById("notify");

function say(name, on = true) {
  const line = document.getElementById(`push-${name}`);
  if (line) line.hidden = !on;
}

async function mark(text) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function ready() {
  say("script", false);
  if (!("serviceWorker" in navigator)) return say("unable");
  const registration = await navigator.serviceWorker.register(new URL("../worker.js", here));
  if (!form) return;
  if (!("PushManager" in window && "Notification" in window)) return say("unable");
  if (Notification.permission === "denied") return say("denied");
  const known = await registration.pushManager.getSubscription();
  const entry = known && document.querySelector(`[data-mark="${await mark(known.endpoint)}"]`);
  if (entry) {
    entry.hidden = false;
    return;
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    allow(registration).catch(() => say("failed"));
  });
}

async function allow(registration) {
  if ((await Notification.requestPermission()) !== "granted") return say("denied");
  const before = await registration.pushManager.getSubscription();
  if (before) await before.unsubscribe(); // it may be by another key
  const leave = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: form.dataset.key,
  });
  const { endpoint, keys } = leave.toJSON();
  for (const [name, value] of Object.entries({ endpoint, ...keys }))
    if (form.elements[name]) form.elements[name].value = value;
  form.submit();
}

ready().catch(() => say("unable"));

// The time zone of the browser is proposed to a new account, and in the settings.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const proposed = document.getElementById("browser-zone");
if (proposed && zone) {
  if (proposed.tagName === "INPUT") proposed.value = zone;
  else if (document.getElementById("f-zone").value !== zone) {
    proposed.hidden = false;
    proposed.querySelector("strong").textContent = zone;
  }
}
