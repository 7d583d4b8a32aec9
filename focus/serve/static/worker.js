// Shows notifications, and a page of ours when the server cannot be reached.
"use strict";
const SHELL = "shell-1";
const ROOT = new URL(".", self.location).pathname;
const KEPT = ["offline", "static/style.css", "favicon.svg"].map((path) => ROOT + path);

self.addEventListener("install", (event) => {
  const fresh = KEPT.map((path) => new Request(path, { cache: "reload", credentials: "omit" }));
  event.waitUntil(caches.open(SHELL).then((shell) => shell.addAll(fresh)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// Forms go past us: what changes something is asked by the browser itself, or not at all.
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  const kept = request.mode === "navigate" ? ROOT + "offline" : new URL(request.url).pathname;
  if (!KEPT.includes(kept)) return;
  event.respondWith(fetch(request).catch(() => caches.match(kept)));
});

self.addEventListener("push", (event) => {
  const { title, body, url, tag, lang } = event.data.json();
  const icon = ROOT + "static/icon-192.png";
  event.waitUntil(self.registration.showNotification(title, { body, tag, lang, icon, data: url }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data, self.location.origin);
  if (url.origin === self.location.origin) event.waitUntil(self.clients.openWindow(url.href));
});
