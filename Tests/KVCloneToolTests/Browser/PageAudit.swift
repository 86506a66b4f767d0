#if Explorer
  import Foundation

  /// Checks of a page in a browser, by WCAG 2.2 AA and by its layout.
  ///
  /// Names and roles are those that the browser computes for assistive technology; colours are computed styles.
  struct PageAudit {
    let browser: Browser

    /// Problems that do not depend on the size of the page and on its colours.
    func structure() throws -> [String] {
      try names() + strings(Self.common + Self.structure)
    }

    /// Problems at the present size.
    func layout() throws -> [String] {
      try strings(Self.common + Self.overflow + Self.targets + "return problems;")
    }

    /// Problems of the present colours.
    func contrast() throws -> [String] { try strings(Self.common + Self.contrast + "return problems;") }

    /// The sum of unexpected movements since the page was opened.
    func layoutShift() throws -> Double {
      let script = """
        let sum = 0;
        new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; })
          .observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done(sum), 100);
        """
      return try browser.evaluateLater(script) as? Double ?? 0
    }

    /// Problems at two sizes and in both colour schemes.
    func all() throws -> [String] {
      var problems = try structure()
      for (width, height) in [(360, 780), (1280, 900)] {
        try browser.resize(width: width, height: height)
        problems += try layout().map { "\(width) px: \($0)" }
      }
      for isDark in [true, false] {
        try browser.prefer(isDark: isDark)
        problems += try contrast().map { "\(isDark ? "dark" : "light"): \($0)" }
      }
      return problems
    }

    private func strings(_ script: String) throws -> [String] { try browser.evaluate(script) as? [String] ?? [script] }

    private static let rolesWithNames: Set = [
      "button", "checkbox", "combobox", "dialog", "image", "link", "navigation", "progressbar", "radio", "region",
      "search", "searchbox", "spinbutton", "table", "textbox", "DisclosureTriangle",
    ]

    /// Roles without a name.
    private func names() throws -> [String] {
      try browser.devTools("Accessibility.enable")
      let nodes = try browser.devTools("Accessibility.getFullAXTree")["nodes"] as? [[String: Any]] ?? []
      var problems = nodes.count < 10 ? ["the accessibility tree has \(nodes.count) nodes"] : []
      for node in nodes where node["ignored"] as? Bool != true {
        let role = (node["role"] as? [String: Any])?["value"] as? String ?? ""
        let name = (node["name"] as? [String: Any])?["value"] as? String ?? ""
        if Self.rolesWithNames.contains(role), name.trimmingCharacters(in: .whitespaces).isEmpty {
          problems.append("\(role) has no name: \(node["backendDOMNodeId"] ?? "")")
        }
      }
      return problems
    }

    private static let common = #"""
      const problems = [];
      const describe = (element) => element.cloneNode(false).outerHTML.slice(0, 120) + " " +
        element.textContent.trim().slice(0, 40);
      const add = (problem, element) => { problems.push(problem + ": " + describe(element)); };
      const isHidden = (element) => element.closest(".hidden, caption, .skip-link, dialog:not([open])") !== null;
      const isVisible = (element) => !isHidden(element) && element.getClientRects().length > 0 &&
        element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
      const visible = (selector) => [...document.querySelectorAll(selector)].filter(isVisible);
      const scrollsInside = (element) => element.closest(".scroll, .foldable, .sheet, svg") !== null;

      """#

    private static let structure = #"""
      if (!document.documentElement.lang) problems.push("the page has no language");
      if (!document.title) problems.push("the page has no title");
      if (document.querySelectorAll("main").length !== 1) problems.push("the page does not have one main part");
      if (document.querySelectorAll("h1").length !== 1) problems.push("the page does not have one h1");
      let level = 0;
      for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
        const next = Number(heading.localName[1]);
        if (next > level + 1) add("a level of headings is skipped", heading);
        if (!heading.textContent.trim()) add("a heading is empty", heading);
        level = next;
      }
      const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
      for (const id of ids.filter((id, index) => ids.indexOf(id) !== index)) problems.push("an id occurs twice: " + id);
      for (const name of ["aria-labelledby", "aria-describedby", "for", "list"]) {
        for (const element of document.querySelectorAll(`[${name}]`)) {
          for (const id of element.getAttribute(name).split(/\s+/)) {
            if (!document.getElementById(id)) add(`${name} has no target`, element);
          }
        }
      }
      for (const image of document.querySelectorAll("img:not([alt])")) add("an image has no alternative", image);
      for (const cell of document.querySelectorAll("th:not([scope])")) add("a heading has no scope", cell);
      for (const element of document.querySelectorAll("[tabindex]")) {
        if (element.tabIndex > 0) add("the focus order is changed", element);
      }
      for (const element of document.querySelectorAll("[style], [onclick], style, script:not([src])")) {
        add("the content security policy forbids it", element);
      }
      return problems;
      """#

    private static let overflow = #"""
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth > width) {
        problems.push(`the page is ${document.documentElement.scrollWidth} px wide in ${width} px`);
      }
      for (const element of visible("body *")) {
        if (scrollsInside(element)) continue;
        const box = element.getBoundingClientRect(), style = getComputedStyle(element);
        if (box.right > width + 1 || box.left < -1) add(`${Math.round(box.right - width)} px beyond the edge`, element);
        const isCut = /hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
        if (isCut && style.textOverflow !== "ellipsis" && !element.matches("input, .canvas")) add("cut off", element);
      }
      for (const svg of visible("svg")) {
        // The rectangle around a rotated text is much larger than the text.
        const texts = [...svg.querySelectorAll("text")].filter((text) => Math.abs(text.getScreenCTM().b) < 0.01)
          .map((text) => [text, text.getBoundingClientRect()]);
        texts.forEach(([text, a], index) => {
          for (const [other, b] of texts.slice(index + 1)) {
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 2 && down > a.height / 3) add(`overlaps “${other.textContent}”`, text);
          }
        });
      }

      """#

    /// Targets of 24 pixels, or so far from others that a circle of 24 pixels around them touches none (2.5.8).
    private static let targets = #"""
      // The part of a target that its scrolling box shows.
      const shown = (element) => {
        const box = (element.closest("label") ?? element).getBoundingClientRect();
        const edge = element.closest(".scroll, .foldable")?.getBoundingClientRect() ?? box;
        const left = Math.max(box.left, edge.left), top = Math.max(box.top, edge.top);
        return new DOMRect(left, top, Math.min(box.right, edge.right) - left, Math.min(box.bottom, edge.bottom) - top);
      };
      const pointed = visible("a[href], button, input:not([type=hidden]), select, textarea, summary")
        .filter((element) => !element.closest("svg"))
        .map((element) => [element, shown(element)]).filter(([, box]) => box.width > 0 && box.height > 0);
      for (const [element, box] of pointed) {
        if (box.width >= 23.9 && box.height >= 23.9) continue;
        // A link within a sentence is as high as its line.
        const parent = element.parentElement;
        const isInline = element.matches("a") && getComputedStyle(element).display === "inline";
        if (isInline && parent.textContent.trim() !== element.textContent.trim()) continue;
        const x = box.left + box.width / 2, y = box.top + box.height / 2;
        const isNear = pointed.some(([other, near]) => other !== element && !other.contains(element) &&
          !element.contains(other) && Math.hypot(
            Math.max(near.left - x, 0, x - near.right), Math.max(near.top - y, 0, y - near.bottom)) < 12);
        if (isNear) add(`target of ${Math.round(box.width)} × ${Math.round(box.height)} px near another`, element);
      }

      """#

    private static let contrast = #"""
      const colour = (text) => {
        const parts = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
        return text.startsWith("color(") ? [...parts.slice(0, 3).map((part) => 255 * part), parts[3] ?? 1]
          : [...parts.slice(0, 3), parts[3] ?? 1];
      };
      const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
      const luminance = (parts) => {
        const [red, green, blue] = parts.map((part) => part / 255)
          .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const background = (element) => {
        const layers = [];
        for (let item = element; item; item = item.parentElement) {
          const style = getComputedStyle(item), layer = colour(style.backgroundColor);
          if (style.backgroundImage !== "none" && layer[3] < 1) return null;
          layers.push(layer);
          if (layer[3] === 1) break;
        }
        return layers.reverse().reduce((bottom, top) => over(top, bottom), [255, 255, 255, 1]);
      };
      // The fill of the shape below a text of a drawing.
      const shapeBelow = (text) => {
        const box = text.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
        const shapes = [...text.ownerSVGElement.querySelectorAll("rect, path, circle, ellipse, polygon")];
        return shapes.filter((shape) => {
          const area = shape.getBoundingClientRect(), isBefore = shape.compareDocumentPosition(text) & 4;
          return isBefore && getComputedStyle(shape).fill !== "none" && area.left <= x && x <= area.right &&
            area.top <= y && y <= area.bottom;
        }).pop();
      };
      const compare = (element, foreground, back, size, weight) => {
        if (!back) return;
        const [a, b] = [luminance(over(foreground, back)), luminance(back)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const isLarge = size >= 24 || (size >= 18.66 && weight >= 700);
        if (ratio < (isLarge ? 3 : 4.5)) add(`contrast ${ratio.toFixed(2)}`, element);
      };
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = new Set();
      while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || seen.has(element) || !isVisible(element)) continue;
        seen.add(element);
        if (element.closest("[aria-disabled], title, script, datalist, option")) continue;
        const style = getComputedStyle(element), text = element.closest("svg text");
        const shape = text && shapeBelow(text);
        const back = shape ? over(colour(getComputedStyle(shape).fill), background(shape.ownerSVGElement))
          : background(text ? text.ownerSVGElement : element);
        const front = colour(text ? style.fill : style.color);
        compare(element, front, back, parseFloat(style.fontSize), Number(style.fontWeight));
      }
      for (const field of visible("input:not([type=checkbox], [type=radio]), select, textarea")) {
        for (const style of [getComputedStyle(field), getComputedStyle(field, "::placeholder")]) {
          compare(field, colour(style.color), background(field), parseFloat(style.fontSize), 400);
        }
      }

      """#
  }
#endif
