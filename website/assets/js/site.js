// Everything works without this script, except the search and what needs a click.
const minisearch = document.currentScript.dataset.minisearch;
const html = document.documentElement;
const root = html.dataset.root;
const byId = (id) => document.getElementById(id);

// Light or dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
byId("theme").addEventListener("click", () => {
  const now = html.dataset.theme || (dark.matches ? "dark" : "light");
  html.dataset.theme = now === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", html.dataset.theme);
  } catch {
    // It is forgotten with the page.
  }
});

// The list of pages on narrow screens.
const menu = byId("menu");
menu?.addEventListener("click", () => {
  const open = html.classList.toggle("menu");
  menu.setAttribute("aria-expanded", open);
});
byId("nav")?.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" });

// Code that is wider than the page can be scrolled with the keyboard.
for (const code of document.querySelectorAll("pre:not([tabindex])")) code.tabIndex = 0;

// Copying of code.
for (const block of document.querySelectorAll(".highlight")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    // Of a session, only the commands.
    const code = block.querySelector("code");
    const lines = code.innerText.split("\n");
    const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    await navigator.clipboard.writeText(commands.length ? commands.join("\n") : code.innerText);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.append(button);
}

// The search. Its index is loaded when somebody wants to search.
const search = byId("search");
const input = search.querySelector("input");
const hits = byId("hits");
let index;
const load = () =>
  (index ??= (async () => {
    const [{ default: MiniSearch }, response] = await Promise.all([import(new URL(root + minisearch, location.href)), fetch(root + "search.json")]);
    const pages = await response.json();
    const engine = new MiniSearch({
      fields: ["title", "headings", "description", "text"],
      storeFields: ["title", "kind", "headings", "description"],
      extractField: (page, field) => (field === "headings" && !page.stored ? page.headings.map((heading) => heading.text).join("\n") : page[field]),
      searchOptions: { boost: { title: 6, headings: 3, description: 3 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false), boostDocument: (id) => (id.startsWith("reference/go/") ? 0.4 : 1) },
    });
    const stored = new Map(pages.map((page) => [page.id, page]));
    engine.addAll(pages);
    return { engine, stored };
  })());
const words = new Set("a an and are as be by can do does for from how i if in is it my of on or that the this to what when where which why will with".split(" "));
const found = async (query) => {
  const { engine, stored } = await load();
  const terms = query.toLowerCase().split(/\s+/).filter((term) => term && !words.has(term));
  return engine.search(terms.join(" ") || query).slice(0, 8).map((hit) => {
    const page = stored.get(hit.id);
    // The heading that has the most of what was found.
    let best, most = 0;
    for (const heading of page.headings) {
      const text = heading.text.toLowerCase();
      const count = hit.terms.filter((term) => text.includes(term)).length;
      if (count > most) [best, most] = [heading, count];
    }
    return { href: root + hit.id + (best ? "#" + best.id : ""), title: page.title, heading: best?.text, kind: page.kind, description: page.description };
  });
};
const show = (open) => {
  hits.hidden = !open;
  input.setAttribute("aria-expanded", open);
};
const select = (link) => {
  for (const each of hits.children) each.setAttribute("aria-selected", each === link);
  input.setAttribute("aria-activedescendant", link?.id ?? "");
  link?.scrollIntoView({ block: "nearest" });
};
let asked = 0;
input.addEventListener("focus", load);
input.addEventListener("input", async () => {
  const mine = ++asked;
  const query = input.value.trim();
  const list = query ? await found(query) : [];
  if (mine !== asked) return;
  hits.replaceChildren(
    ...list.map((hit, i) => {
      const link = document.createElement("a");
      Object.assign(link, { href: hit.href, id: "hit" + i });
      link.setAttribute("role", "option");
      link.tabIndex = -1;
      const kind = document.createElement("small");
      kind.textContent = hit.kind;
      const title = document.createElement("strong");
      title.textContent = hit.title;
      link.append(kind, title);
      if (hit.heading) {
        const heading = document.createElement("span");
        heading.textContent = hit.heading;
        link.append(heading);
      }
      return link;
    }),
  );
  if (query && !list.length) {
    const nothing = document.createElement("p");
    nothing.textContent = "No page has these words.";
    hits.append(nothing);
  }
  hits.dataset.query = query;
  select(hits.querySelector("a"));
  show(Boolean(query));
});
search.addEventListener("submit", (event) => {
  event.preventDefault();
  hits.querySelector("[aria-selected=true]")?.click();
});
search.addEventListener("keydown", (event) => {
  const links = [...hits.querySelectorAll("a")];
  const at = links.findIndex((link) => link.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    select(links[(at + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length]);
  } else if (event.key === "Escape") {
    show(false);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
});
document.addEventListener("click", (event) => {
  if (!search.contains(event.target)) show(false);
});

// Other versions of the site are beside this one, with a list of them.
(async () => {
  if (!html.dataset.versions) return;
  const response = await fetch(root + "../versions.json").catch(() => undefined);
  if (!response?.ok) return;
  const versions = await response.json();
  const here = html.dataset.version;
  const latest = versions[0];
  const select = byId("versions");
  select.replaceChildren(...versions.map((version) => new Option(version === latest ? version + " (latest)" : version, version, false, version === here)));
  select.hidden = false;
  const pageIn = async (version) => {
    const page = `${root}../${version}/${html.dataset.page}`;
    const answer = await fetch(page, { method: "HEAD" }).catch(() => undefined);
    return answer?.ok ? page : `${root}../${version}/`;
  };
  select.addEventListener("change", async () => (location.href = await pageIn(select.value)));
  if (here !== latest && versions.includes(here)) {
    const old = byId("old");
    const link = document.createElement("a");
    link.textContent = `Read it for ${latest}.`;
    link.href = await pageIn(latest);
    old.append(here === "main" ? "This page is about a version that is not released yet. " : `This page is about ${here}, an older version. `, link);
    old.hidden = false;
  }
})();
