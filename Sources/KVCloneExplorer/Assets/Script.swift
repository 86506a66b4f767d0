/// The script of all pages: keyboard, live updates, pan and zoom, completion. Every page works without it.
///
/// Its parts are functions without shared state, which `start` calls once. They find their elements by `data-…`
/// attributes and by classes of ``Components``.
enum Script {
  static let text =
    "\"use strict\";\n(() => {\n" + foundation + keyboard + live + drawings + fields
    + "keys(); watch(); poll(); diagrams(); predicates(); trees(); links();\n})();\n"

  private static let foundation = #"""
    const all = (selector, root = document) => [...root.querySelectorAll(selector)];
    const make = (name, text, properties = {}) =>
      Object.assign(document.createElement(name), properties, text === undefined ? {} : { textContent: text });
    const toast = document.querySelector(".toast");
    document.documentElement.classList.add("scripted");

    // Storage throws where the browser forbids it; then nothing is remembered.
    const load = (key) => {
      try { return JSON.parse(localStorage.getItem("kvclone." + key)); } catch { return null; }
    };
    const save = (key, value) => {
      try { localStorage.setItem("kvclone." + key, JSON.stringify(value)); } catch { }
    };
    const say = (...parts) => { if (toast) toast.replaceChildren(...parts); };

    """#

  private static let keyboard = #"""
    const isField = (element) => element.matches("input:not([type=checkbox], [type=radio]), textarea, select");

    // Moves the focus to the first link of the next or previous row, so that Enter and Tab continue there.
    function move(step) {
      const links = all("main .grid tbody tr, main .tree .node, main [data-item]").map((item) =>
        item.matches("a") ? item : item.querySelector("a[href]") ?? item.closest("summary"))
        .filter((link) => link && link.getClientRects().length);
      const rows = links.map((link) => link.closest("tr, .node, [data-item]") ?? link);
      const current = rows.findIndex((row) => row.contains(document.activeElement));
      const next = current < 0 ? (step > 0 ? 0 : links.length - 1) : current + step;
      links[next]?.focus();
    }

    function help() {
      let dialog = document.querySelector("dialog.help");
      if (!dialog) {
        dialog = make("dialog", undefined, { className: "help" });
        dialog.setAttribute("aria-labelledby", "help-title");
        const list = make("dl");
        const row = (keys, text) => {
          const term = make("dt");
          keys.split(" ").forEach((key, index) => term.append(index ? " " : "", make("kbd", key)));
          list.append(term, make("dd", text));
        };
        row("/", "Search");
        row("j k", "Next or previous row");
        row("Enter", "Open the row");
        for (const link of all("[data-key]")) row("g " + link.dataset.key, link.textContent);
        row("+ − 0", "In a diagram: zoom in, zoom out, fit; arrows pan, Ctrl and the wheel zoom");
        row("?", "Show this list");
        const check = make("input", undefined, { type: "checkbox", checked: load("keys") !== false });
        check.addEventListener("change", () => save("keys", check.checked));
        const label = make("label");
        label.append(check, "Single-key shortcuts");
        const form = make("form", undefined, { method: "dialog" });
        form.append(label, make("button", "Close", { className: "button", autofocus: true }));
        dialog.append(make("h2", "Keyboard", { id: "help-title" }), list, form);
        document.body.append(dialog);
      }
      if (!dialog.open) dialog.showModal();
    }

    function keys() {
      let prefix = 0;
      all("[data-help]").forEach((button) => button.addEventListener("click", help));
      document.addEventListener("keydown", (event) => {
        const { key, target } = event;
        if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
        if (isField(target)) {
          if (key === "Escape") target.blur();
          return;
        }
        if (load("keys") === false || document.querySelector("dialog[open]")) return;
        const section = Date.now() - prefix < 1500 && document.querySelector(`[data-key="${CSS.escape(key)}"]`);
        prefix = key === "g" ? Date.now() : 0;
        if (section) section.click();
        else if (key === "/") [...all("main [data-search]"), ...all("[data-search]")][0]?.focus();
        else if (key === "j") move(1);
        else if (key === "k") move(-1);
        else if (key === "?") help();
        else return;
        event.preventDefault();
      });
    }

    """#

  private static let live = #"""
    // Replaces regions by those of a new rendering of this page; the scroll position and the focus remain.
    async function refresh(selector) {
      const response = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!response.ok) throw new Error(response.status);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const region of all(selector)) {
        const fresh = page.getElementById(region.id);
        const focus = document.activeElement;
        const isInside = region.contains(focus);
        if (!fresh || (isInside && isField(focus)) || fresh.innerHTML === region.innerHTML) continue;
        region.replaceWith(fresh);
        if (isInside) all("a", fresh).find((link) => link.isEqualNode(focus))?.focus({ preventScroll: true });
      }
    }

    function changed() {
      const link = make("a", "Reload", { href: location.href });
      link.addEventListener("click", (event) => { event.preventDefault(); location.reload(); });
      const offer = () => say("The store changed. ", link);
      if (document.querySelector("[data-live]")) refresh("[data-live]").catch(offer);
      else offer();
    }

    // Listens for commits while the tab is visible. A hidden tab has no connection.
    function watch() {
      const { events, commit } = document.body.dataset;
      if (!events || !window.EventSource) return;
      let known = commit, stream, timer;
      const open = () => {
        if (stream || document.hidden) return;
        stream = new EventSource(events);
        stream.addEventListener("commit", ({ data }) => {
          const isNew = known !== undefined && known !== data;
          known = data;
          if (isNew) timer ??= setTimeout(() => { timer = undefined; changed(); }, 500);
        });
      };
      const close = () => { stream?.close(); stream = undefined; };
      document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
      addEventListener("pagehide", close);
      addEventListener("pageshow", open);
      open();
    }

    // Regions that show the progress of an operation name their period in seconds, until it ends.
    function poll() {
      const region = document.querySelector("[data-poll]");
      if (!region) return;
      setTimeout(() => (document.hidden ? Promise.resolve() : refresh("[data-poll]").catch(() => { })).then(poll),
        1000 * Math.max(1, Number(region.dataset.poll) || 1));
    }

    """#

  private static let drawings = #"""
    function diagrams() {
      for (const figure of all("[data-panzoom]")) {
        const canvas = figure.querySelector(".canvas"), svg = canvas?.querySelector("svg");
        const whole = svg?.getAttribute("viewBox")?.split(/[ ,]+/).map(Number);
        if (!whole || whole.length !== 4) continue;
        let [x, y, width, height] = whole, start, isDragged = false;
        const show = () => svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
        const unit = () => Math.max(width / svg.clientWidth, height / svg.clientHeight);
        const pan = (right, down) => { x += right; y += down; show(); };
        const zoom = (factor, left = 0.5, top = 0.5) => {
          const scale = Math.min(Math.max(width * factor, whole[2] / 40), whole[2] * 2) / width;
          x += width * (1 - scale) * left;
          y += height * (1 - scale) * top;
          width *= scale;
          height *= scale;
          show();
        };
        // A large diagram starts at a legible scale, at its current shape or at its first corner.
        if (unit() > 1.5) {
          const middle = svg.querySelector(".current")?.getBBox();
          width = svg.clientWidth * 1.25;
          height = svg.clientHeight * 1.25;
          if (middle) pan(middle.x + middle.width / 2 - width / 2 - x, middle.y + middle.height / 2 - height / 2 - y);
          else show();
        }
        const act = {
          in: () => zoom(0.8), out: () => zoom(1.25), fit: () => { [x, y, width, height] = whole; show(); },
        };
        for (const button of all("[data-zoom]", figure)) {
          button.addEventListener("click", () => act[button.dataset.zoom]?.());
        }
        canvas.addEventListener("keydown", (event) => {
          const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
          const name = { "+": "in", "=": "in", "-": "out", "0": "fit" }[event.key], step = moves[event.key];
          if (event.ctrlKey || event.metaKey || event.altKey || !(name || step)) return;
          if (name) act[name]();
          else pan(step[0] * width / 10, step[1] * height / 10);
          event.preventDefault();
        });
        canvas.addEventListener("wheel", (event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          const box = svg.getBoundingClientRect();
          zoom(event.deltaY < 0 ? 0.9 : 1 / 0.9, (event.clientX - box.left) / box.width,
            (event.clientY - box.top) / box.height);
        }, { passive: false });
        canvas.addEventListener("pointerdown", (event) => {
          if (event.button === 0) start = [event.clientX, event.clientY];
          isDragged = false;
        });
        canvas.addEventListener("pointermove", (event) => {
          if (!start || !event.buttons) return;
          const right = event.clientX - start[0], down = event.clientY - start[1];
          // A click moves a little; only a longer way is a drag.
          if (!isDragged && Math.hypot(right, down) < 4) return;
          if (!isDragged) canvas.setPointerCapture(event.pointerId);
          isDragged = true;
          start = [event.clientX, event.clientY];
          pan(-right * unit(), -down * unit());
        });
        const stop = () => { start = undefined; };
        canvas.addEventListener("pointerup", stop);
        canvas.addEventListener("pointercancel", stop);
        canvas.addEventListener("dragstart", (event) => event.preventDefault());
        canvas.addEventListener("click", (event) => { if (isDragged) event.preventDefault(); }, true);
        // A link that gets the focus beyond the edge comes into view.
        canvas.addEventListener("focusin", ({ target }) => {
          if (target === canvas || !target.matches(":focus-visible")) return;
          const box = svg.getBoundingClientRect(), item = target.getBoundingClientRect();
          const isWide = item.left >= box.left && item.right <= box.right;
          if (isWide && item.top >= box.top && item.bottom <= box.bottom) return;
          pan((item.left + item.width / 2 - box.left - box.width / 2) * unit(),
            (item.top + item.height / 2 - box.top - box.height / 2) * unit());
        });
      }
    }

    """#

  private static let fields = #"""
    function predicates() {
      for (const field of all("[data-complete]")) {
        const { list, dataset: { history } } = field;
        const words = list ? [...list.options].map((option) => option.value) : [];
        const key = "history." + history;
        const earlier = () => { const found = load(key); return Array.isArray(found) ? found.map(String) : []; };
        const complete = () => {
          const word = /[\w.$@%]*$/.exec(field.value)[0];
          const before = field.value.slice(0, field.value.length - word.length);
          const fits = (text) => text.toLowerCase().startsWith(word.toLowerCase());
          const found = word ? words.filter(fits).map((text) => before + text) : field.value ? [] : earlier();
          list?.replaceChildren(...found.slice(0, 20).map((value) => make("option", undefined, { value })));
        };
        field.addEventListener("input", complete);
        field.addEventListener("focus", complete);
        field.form?.addEventListener("submit", () => {
          const value = field.value.trim();
          if (history && value) save(key, [value, ...earlier().filter((item) => item !== value)].slice(0, 20));
        });
      }
    }

    function trees() {
      for (const tree of all("[data-tree]")) {
        for (const button of all("[data-expand]", tree)) {
          button.addEventListener("click", () => {
            for (const item of all("details", tree)) item.open = button.dataset.expand === "all";
          });
        }
      }
    }

    function links() {
      for (const link of all("[data-copy]")) {
        link.addEventListener("click", (event) => {
          if (!navigator.clipboard || event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          navigator.clipboard.writeText(link.href).then(() => say("Link copied."), () => say("Link not copied."));
        });
      }
    }

    """#
}
