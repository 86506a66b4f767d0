/// The icon of the tab: an object and its clone.
enum Icon {
  static let text = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1.5" y="1.5" width="9" height="9" rx="2" \
    fill="#ffffff" stroke="#1a5ba6" stroke-width="1.5"/><rect x="5.5" y="5.5" width="9" height="9" rx="2" \
    fill="#1a5ba6" stroke="#ffffff"/></svg>
    """
}
