#if Explorer
  import Foundation
  import Testing

  /// Chromium without windows.
  final class Browser {
    static let isPossible = Programs.has("chromedriver", "bash") && program != nil
    static let missing = Comment("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    private static let program = Programs.path("chromium") ?? Programs.path("google-chrome")

    private let process: BackgroundProgram
    private let driver: WebDriver
    private let session: String

    init(in scratch: Scratch) throws {
      process = try BackgroundProgram(
        try #require(Programs.path("chromedriver")), ["--port=0", "--log-level=SEVERE"], in: scratch)
      let port = try process.wait { $0.firstMatch(of: /started successfully on port (\d+)/).flatMap { UInt16($0.1) } }
      driver = WebDriver(port: port)
      var arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900"]
      // Chromium refuses to use its sandbox as root.
      if geteuid() == 0 { arguments.append("--no-sandbox") }
      let options: [String: Any] = ["binary": try #require(Self.program), "args": arguments]
      let answer = try driver.send(
        "POST", "/session",
        [
          "capabilities": [
            "alwaysMatch": [
              "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL"],
            ]
          ]
        ])
      session = try #require((answer as? [String: Any])?["sessionId"] as? String)
    }

    deinit { _ = try? driver.send("DELETE", "/session/\(session)") }

    @discardableResult
    private func send(_ method: String, _ command: String, _ body: [String: Any]? = nil) throws -> Any {
      try driver.send(method, "/session/\(session)/\(command)", body)
    }

    /// Sends a command of the DevTools protocol.
    @discardableResult
    func devTools(_ command: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
      try send("POST", "goog/cdp/execute", ["cmd": command, "params": parameters]) as? [String: Any] ?? [:]
    }

    /// Opens a page, and waits until it is loaded.
    func open(_ url: String) throws { try send("POST", "url", ["url": url]) }

    var address: String { get throws { try send("GET", "url") as? String ?? "" } }

    /// Runs the body of a function in the page.
    func evaluate(_ script: String) throws -> Any { try send("POST", "execute/sync", ["script": script, "args": []]) }

    func evaluateVoid(_ script: String) throws { _ = try evaluate(script) }

    func text(_ script: String) throws -> String { try evaluate("return String(\(script))") as? String ?? "" }

    /// The text of the main part of the page.
    var mainText: String { get throws { try text("document.querySelector('main').innerText") } }

    func isTrue(_ script: String) throws -> Bool { try text(script) == "true" }

    /// Runs a script that passes its result to the function `done`.
    func evaluateLater(_ script: String) throws -> Any {
      try send("POST", "execute/async", ["script": "const done = arguments[0]; \(script)", "args": []])
    }

    /// Waits until an expression is true.
    func wait(
      until expression: String, seconds: Double = 300, _ location: SourceLocation = #_sourceLocation
    ) throws {
      let end = Date(timeIntervalSinceNow: seconds)
      while Date() < end {
        // A script fails while the page changes.
        if (try? isTrue(expression)) == true { return }
        usleep(50_000)
      }
      let place = try address
      try #require(try isTrue(expression), "\(expression) at \(place)", sourceLocation: location)
    }

    /// Waits until the main part of the page shows at least this number of images, which load after the page.
    func waitForImages(_ count: Int, _ location: SourceLocation = #_sourceLocation) throws {
      let images = "[...document.querySelectorAll('main img')]"
      try wait(until: "\(images).filter((image) => image.naturalWidth > 0).length >= \(count)", location)
    }

    /// Runs a script that leads to another document, and waits until that is loaded.
    func follow(_ script: String, _ location: SourceLocation = #_sourceLocation) throws {
      try evaluateVoid("window.isLeft = true; \(script)")
      try wait(until: "!window.isLeft && document.readyState === 'complete'", location)
    }

    /// Requests the links of the page to its JSON and CSV, and returns their names, status and types in order.
    func exports() throws -> [String] {
      let script = """
        const links = [...document.querySelectorAll('main a')].filter((a) => ['JSON', 'CSV'].includes(a.textContent)); \
        Promise.all(links.map((a) => fetch(a.href).then((response) => \
          [a.textContent, response.status, response.headers.get('content-type')].join(' ')))).then(done)
        """
      return try #require(try evaluateLater(script) as? [String]).sorted()
    }

    /// Keys without a character.
    enum Key: String {
      case tab = "\u{E004}"
      case enter = "\u{E007}"
      case escape = "\u{E00C}"
      case right = "\u{E014}"
    }

    func press(_ key: Key, times: Int = 1) throws { try press(String(repeating: key.rawValue, count: times)) }

    func press(_ keys: String) throws {
      let actions = keys.flatMap { key in ["keyDown", "keyUp"].map { ["type": $0, "value": String(key)] } }
      try send(
        "POST", "actions", ["actions": [["type": "key", "id": "keyboard", "actions": actions] as [String: Any]]])
    }

    /// The buttons and the wheel of a mouse.
    enum Mouse: String {
      case press = "mousePressed"
      case move = "mouseMoved"
      case release = "mouseReleased"
      /// Ctrl and the wheel, by one step away from the user.
      case zoom = "mouseWheel"
    }

    func mouse(_ event: Mouse, _ x: Double, _ y: Double) throws {
      let isZoom = event == .zoom
      try devTools(
        "Input.dispatchMouseEvent",
        [
          "type": event.rawValue, "x": x, "y": y, "button": isZoom ? "none" : "left", "clickCount": isZoom ? 0 : 1,
          "deltaX": 0, "deltaY": isZoom ? -100 : 0, "modifiers": isZoom ? 2 : 0,
        ])
    }

    func resize(width: Int, height: Int) throws {
      try devTools(
        "Emulation.setDeviceMetricsOverride",
        ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    func prefer(isDark: Bool) throws {
      let scheme = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
      try devTools("Emulation.setEmulatedMedia", ["features": [scheme]])
    }

    /// Writes a picture of the whole page.
    func writeScreenshot(to path: String) throws {
      let answer = try devTools("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
      let data = try #require((answer["data"] as? String).flatMap { Data(base64Encoded: $0) })
      try data.write(to: URL(fileURLWithPath: path))
    }

    /// Messages of the console since the last call: errors of scripts, failed requests, and violations of the content
    /// security policy.
    func messages() throws -> [String] {
      let entries = try send("POST", "se/log", ["type": "browser"]) as? [[String: Any]] ?? []
      return entries.compactMap { $0["message"] as? String }
    }
  }
#endif
