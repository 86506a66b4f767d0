/// The script of all pages: keyboard, live updates, pan and zoom. Every page works without it.
enum Script {
  static let text = """
    "use strict";
    """
}
