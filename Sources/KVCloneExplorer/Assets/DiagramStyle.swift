/// The style of diagrams: rules for the style sheet of pages, and a style sheet for files of their own.
///
/// Shapes have classes, so that pages need no exception from their content security policy.
enum DiagramStyle {
  /// Rules with the colours of ``Palette``.
  static let rules = """
    .model text, .graph text { fill: var(--ink); font: 12px/1 var(--sans); }
    .model .title, .graph .title { font-size: 13px; font-weight: 600; }
    .model .detail, .graph .detail { fill: var(--muted); font-size: 11px; }
    .model .soft, .graph .soft { font-style: italic; }
    .ground { fill: var(--surface); }
    .plate { fill: var(--paper); stroke: var(--edge); }
    .plate.hollow { stroke-dasharray: 4 3; }
    .plate.current { fill: var(--accent-soft); stroke: var(--accent); }
    .plate-head { fill: var(--sunken); stroke: var(--edge); }
    .plate-head.hollow { fill: var(--paper); stroke-dasharray: 4 3; }
    .divider { fill: none; stroke: var(--line); }
    .wire { fill: none; stroke: var(--edge); stroke-width: 1.5; stroke-linecap: round; }
    .wire.follow { stroke: var(--green); }
    .wire.share { stroke: var(--accent); }
    .wire.skip { stroke-dasharray: 1 4; stroke-width: 2; }
    .wire.rebuild { stroke: var(--amber); }
    .wire.faint { stroke-width: 1; stroke-dasharray: 1 4; }
    .mark { fill: var(--surface); stroke: var(--ink); stroke-width: 1.25; }
    .dot { fill: none; stroke: none; }
    .dot.follow { fill: var(--green); }
    .dot.share { fill: var(--accent); }
    .dot.skip { fill: var(--paper); stroke: var(--edge); stroke-width: 1.5; }
    .dot.rebuild { fill: var(--amber); }
    .halo { paint-order: stroke; stroke: var(--surface); stroke-width: 4; stroke-linejoin: round; }
    .strip { fill: transparent; }
    .model a:hover .strip, .model a:focus-visible .strip { fill: var(--accent-soft); }
    .model a:hover text, .graph a:hover text { text-decoration: underline; }
    .model g:hover > .wire { stroke-width: 3; }

    """

  /// A style sheet without custom properties, which many programs do not support.
  static let standalone: String = {
    let dark = rules.split(separator: "\n").filter { $0.contains("var(") }.joined(separator: "\n")
    return resolved(rules, \.light) + "@media screen and (prefers-color-scheme: dark) {\n"
      + resolved(dark, \.dark) + "\n}\n"
  }()

  private static func resolved(_ rules: String, _ variant: KeyPath<Palette.Colour, String>) -> String {
    var result = rules.replacing("var(--sans)", with: "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif")
    for colour in Palette.colours {
      result = result.replacing("var(--\(colour.name))", with: "#\(colour[keyPath: variant])")
    }
    return result
  }
}
