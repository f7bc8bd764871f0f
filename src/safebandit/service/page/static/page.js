// Keeps the live part of a page up to date: asks every two seconds what has changed since the last event, and puts
// the parts that differ in their places. Forms are not touched; focus, open details and scrolling stay as they are.
// Beside every time of the record it says the reader's own, and of a file that is too long it says so before it is sent.
"use strict";

const EVERY = 2000;
const SLOWEST = 30000;

const live = document.getElementById("live");
const state = document.getElementById("live-state");
// What the live part shows, where that is more than its address says.
const shown = document.getElementById("live-shown");
let failures = 0;
let timer = 0;
let asking = false;

function say(text) {
  if (state.textContent !== text) state.textContent = text;
  state.hidden = text === "";
}

function wait() {
  const slower = document.hidden ? SLOWEST : Math.min(SLOWEST, EVERY * 2 ** failures);
  clearTimeout(timer);
  timer = setTimeout(poll, slower);
}

async function poll() {
  if (asking) return;
  asking = true;
  try {
    const answer = await ask();
    if (answer.status === 401 || answer.status === 403) {
      say("You are signed out: this page no longer updates itself. Load it again to sign in.");
      return;
    }
    if (answer.status === 200 && !renew(await answer.text(), answer.headers.get("x-mark"))) {
      say("The service has another version of this page. Load it again to see what is new.");
      return;
    }
    if (answer.status !== 200 && answer.status !== 204) throw new Error(answer.statusText);
    failures = 0;
    say("");
  } catch {
    failures += 1;
    say("The service does not answer; what you see may be old. It is asked again by itself.");
  } finally {
    asking = false;
  }
  wait();
}

// A text that somebody looks for stands in no address: it is sent as the form sent it.
function ask() {
  const said = new URLSearchParams(shown ? new FormData(shown) : []);
  said.set("after", live.dataset.mark);
  const how = { cache: "no-store", signal: AbortSignal.timeout(SLOWEST) };
  if (shown) return fetch(live.dataset.live, { ...how, method: "POST", body: said });
  return fetch(`${live.dataset.live}?${said}`, how);
}

// Put what is new in its place; false if the page has no place for some of it.
function renew(html, mark) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const parts = [...fresh.querySelectorAll("[data-part]")];
  const known = new Map([...live.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
  if (parts.length !== known.size || parts.some((part) => !known.has(part.dataset.part))) return false;
  tellTimes(fresh);
  for (const part of parts) {
    const old = known.get(part.dataset.part);
    if (old.innerHTML !== part.innerHTML) keeping(old, () => old.replaceChildren(...part.childNodes));
  }
  live.dataset.mark = mark;
  return true;
}

// Do something to a part of the page; what a person did to it stays.
function keeping(part, change) {
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const open = [...part.querySelectorAll("details[open][id]")].map((each) => each.id);
  const scrolled = [...part.querySelectorAll(".scroll[id]")].map((each) => [each.id, each.scrollLeft, each.scrollTop]);
  change();
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo(left, top);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function tellTimes(where) {
  tellAges(where);
  for (const each of where.querySelectorAll("time[datetime]:not([data-age])")) tellLocal(each);
}

function tellAges(where) {
  for (const each of where.querySelectorAll("time[data-age]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(each.dateTime)) / 1000));
    const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) ?? [1, "s"];
    const text = `${Math.floor(seconds / size)} ${unit}`;
    if (each.textContent !== text) each.textContent = text;
  }
}

// Beside a time in UTC, the same in the reader's zone: the clock alone on the same day, else with its date.
function tellLocal(time) {
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.getTime()) || moment.getTimezoneOffset() === 0) return;
  const two = (number) => String(number).padStart(2, "0");
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
  const clock = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
  const beside = time.ownerDocument.createElement("span");
  beside.className = "local";
  beside.textContent = ` ${time.dateTime.startsWith(day) ? clock : `${day} ${clock}`} local`;
  time.append(beside);
}

if (live && state) {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { clearTimeout(timer); poll(); }
  });
  wait();
}
tellTimes(document);
setInterval(() => tellAges(document), 10000);
// A file that would not be taken is not sent.
for (const file of document.querySelectorAll("input[type=file][data-most]")) {
  const most = Number(file.dataset.most);
  file.addEventListener("change", () => {
    const size = file.files[0]?.size ?? 0;
    const words = (number) => number.toLocaleString("en");
    const problem = `a file may have at most ${words(most)} bytes, this one has ${words(size)}; send it in parts`;
    file.setCustomValidity(size > most ? problem : "");
    file.reportValidity();
  });
}
// A browser that goes to a place in the page, as the address says, does not do this itself.
addEventListener("load", () => document.querySelector("[autofocus]")?.focus());
document.querySelector(".said.wrong, .said.ask")?.scrollIntoView({ block: "center" });
