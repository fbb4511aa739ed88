"use strict";
// The server renders; this script only puts its HTML in place.
const live = document.getElementById("live"), connection = document.getElementById("connection"), log = document.getElementById("log");
const maxLines = 5000;
let source, ended = !live.dataset.stream;

function say(text) {
  connection.textContent = text;
  connection.classList.toggle("waiting", text !== "live");
  const reading = document.getElementById("reading");
  if (reading && text !== "live") reading.textContent = text;
}

function end(text) {
  ended = true;
  source.close();
  say(text + "; to try again, reload the page");
}

// A browser has few connections to one host, so that only pages that somebody looks at are connected.
function connect() {
  if (source) source.close();
  if (ended || document.hidden) return;
  source = new EventSource(live.dataset.stream);
  source.addEventListener("open", () => { if (log) log.textContent = ""; });
  source.addEventListener("page", event => Idiomorph.morph(live, event.data, {
    morphStyle: "innerHTML",
    // What the user has opened, closed or entered stays.
    callbacks: { beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS" || name === "value" && node.tagName === "INPUT") },
    ignoreActiveValue: true,
  }));
  source.addEventListener("line", event => {
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    log.append(event.data + "\n");
    while (log.childNodes.length > maxLines) log.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  });
  source.addEventListener("state", event => say(event.data));
  source.addEventListener("end", event => end(event.data));
  source.addEventListener("error", () => source.readyState === EventSource.CLOSED ? end("ended") : say("reconnecting"));
}

document.addEventListener("visibilitychange", connect);
connect();
