/// Colours of the style sheet, for light and for dark pages.
enum Palette {
  struct Colour: Sendable {
    /// The name of the custom property, without its dashes.
    var name: String
    /// Six hexadecimal digits.
    var light: String
    var dark: String
  }

  /// Two colours that touch each other.
  struct Pair: Sendable {
    var foreground: String
    var background: String
    /// The contrast that WCAG 2.2 AA requires: 4.5 for text, 3 for the edges of controls and of drawings.
    var contrast: Double
  }

  static let colours = [
    Colour(name: "paper", light: "ffffff", dark: "14181d"),
    Colour(name: "surface", light: "f6f7f9", dark: "1a1f26"),
    Colour(name: "sunken", light: "eceff3", dark: "252c35"),
    // Lines between rows: they carry no meaning, so that they need no contrast.
    Colour(name: "line", light: "dfe3e9", dark: "2f3842"),
    Colour(name: "edge", light: "7c8693", dark: "7b8694"),
    Colour(name: "ink", light: "1b2128", dark: "e3e8ee"),
    Colour(name: "muted", light: "566170", dark: "a3aebb"),
    Colour(name: "accent", light: "1a5ba6", dark: "84b6f4"),
    Colour(name: "accent-soft", light: "e4edf9", dark: "1c2f47"),
    Colour(name: "on-accent", light: "ffffff", dark: "10161d"),
    Colour(name: "green", light: "1d6a43", dark: "7ecb9f"),
    Colour(name: "green-soft", light: "e2f2e8", dark: "183326"),
    Colour(name: "amber", light: "7a4d00", dark: "e3b560"),
    Colour(name: "amber-soft", light: "fbf0d6", dark: "392d12"),
    Colour(name: "red", light: "a4262c", dark: "f2999d"),
    Colour(name: "red-soft", light: "fbe7e7", dark: "452325"),
    Colour(name: "series-1", light: "dbe7f5", dark: "23374f"),
    Colour(name: "series-2", light: "dceee2", dark: "1f3d2d"),
    Colour(name: "series-3", light: "f9edce", dark: "42371b"),
    Colour(name: "series-4", light: "ebe4f4", dark: "392f4c"),
    Colour(name: "series-5", light: "f9e2db", dark: "492f29"),
    Colour(name: "series-6", light: "dbecec", dark: "1f3b3d"),
  ]

  static let pairs: [Pair] = {
    let papers = ["paper", "surface", "sunken"]
    let tones = ["accent", "green", "amber", "red"]
    let texts = ["ink", "muted"] + tones
    var pairs = papers.flatMap { paper in texts.map { Pair(foreground: $0, background: paper, contrast: 4.5) } }
    for tone in tones {
      for text in ["ink", "muted", "accent", tone] {
        pairs.append(Pair(foreground: text, background: "\(tone)-soft", contrast: 4.5))
      }
    }
    for series in 1...6 {
      for text in ["ink", "muted"] {
        pairs.append(Pair(foreground: text, background: "series-\(series)", contrast: 4.5))
      }
    }
    pairs += ["accent", "red"].map { Pair(foreground: "on-accent", background: $0, contrast: 4.5) }
    pairs += papers.map { Pair(foreground: "edge", background: $0, contrast: 3) }
    return pairs
  }()

  /// The custom properties. Printed pages are light.
  static let styleSheet = """
    :root { color-scheme: light dark; \(properties(\.light)) }
    @media screen and (prefers-color-scheme: dark) { :root { \(properties(\.dark)) } }
    @media print { :root { color-scheme: light; } }

    """

  private static func properties(_ variant: KeyPath<Colour, String>) -> String {
    colours.map { "--\($0.name): #\($0[keyPath: variant]);" }.joined(separator: " ")
  }
}
