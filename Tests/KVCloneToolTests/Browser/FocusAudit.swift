#if Explorer
  import Foundation

  /// Checks of the order and the visibility of the focus: Tab reaches every control once, in the order of the page.
  struct FocusAudit {
    let browser: Browser

    /// Problems of a page that was just opened.
    func problems() throws -> [String] {
      let count = Int(try browser.text(Self.prepare)) ?? 0
      guard count > 3 else { return ["the page has \(count) controls"] }
      try browser.press(.tab, times: min(count, Self.limit))
      return try browser.evaluate("return globalThis.focusProblems(\(min(count, Self.limit)));") as? [String] ?? []
    }

    private static let limit = 300

    /// An expression that records the focus from now on; its value is the number of controls.
    private static let prepare = #"""
      (() => {
        const selector = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
        const controls = [...document.querySelectorAll(selector)].filter((element) =>
          element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) &&
          !element.closest("dialog:not([open])") && !element.disabled && element.tabIndex >= 0);
        const name = (element) => element.cloneNode(false).outerHTML.slice(0, 120) + " " +
          element.textContent.trim().slice(0, 40);
        const reached = [], problems = [];
        document.addEventListener("focusin", ({ target }) => {
          reached.push(target);
          const style = getComputedStyle(target);
          if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1.5) {
            problems.push("the focus is invisible: " + name(target));
          }
        });
        globalThis.focusProblems = (count) => {
          for (const [index, control] of controls.slice(0, count).entries()) {
            if (reached[index] === control) continue;
            problems.push(`Tab ${index + 1} reached ${reached[index] ? name(reached[index]) : "nothing"}, not ` +
              name(control));
            break;
          }
          return problems;
        };
        return controls.length;
      })()
      """#
  }
#endif
