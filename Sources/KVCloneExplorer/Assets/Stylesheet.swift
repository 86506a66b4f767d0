/// The style sheet of all pages.
enum Stylesheet {
  static let text = """
    :root { color-scheme: light dark; }
    """
}
