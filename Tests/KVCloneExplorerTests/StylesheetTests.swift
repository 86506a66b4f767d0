import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Colours have the contrast that WCAG 2.2 AA requires, and pages use only classes that the style sheet has.
@Suite(.bounded) struct StylesheetTests {
  @Test(arguments: ["light", "dark"])
  func coloursThatTouchEachOtherContrast(scheme: String) throws {
    for pair in Palette.pairs {
      let foreground = try luminance(pair.foreground, scheme)
      let background = try luminance(pair.background, scheme)
      let contrast = (max(foreground, background) + 0.05) / (min(foreground, background) + 0.05)
      let text = String(format: "%.2f", contrast)
      #expect(contrast >= pair.contrast, "\(pair.foreground) on \(pair.background) in \(scheme): \(text)")
    }
  }

  @Test func everyColourIsUsedAndDeclared() {
    let declared = Set(Palette.colours.map(\.name))
    let used = Set(matches(#"var\(--([a-z0-9-]+)"#, in: Stylesheet.text))
    let scales: Set = ["sans", "mono", "radius"]
    let isScale = { (name: String) in scales.contains(name) || name.wholeMatch(of: /[st][1-7]/) != nil }
    #expect(declared.subtracting(used) == [])
    #expect(used.subtracting(declared).filter { !isScale($0) } == [])
    #expect(declared.subtracting(Palette.pairs.flatMap { [$0.foreground, $0.background] }) == ["line"])
  }

  /// Fonts, images and imported style sheets would load late, or from other servers.
  @Test func nothingIsLoaded() {
    for name in ["url(", "@import", "@font-face", "http:", "https:"] {
      #expect(!Stylesheet.text.contains(name), "\(name)")
    }
  }

  @Test func scriptIsSmallAndNeedsNoExceptionFromTheContentSecurityPolicy() {
    #expect(Script.text.utf8.count < 12_288)
    for name in ["eval(", "new Function", "innerHTML = ", "insertAdjacentHTML", "document.write", ".style", "http"] {
      #expect(!Script.text.contains(name), "\(name)")
    }
  }

  @Test func pagesUseOnlyClassesOfTheStyleSheet() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/KVCloneExplorer")
    let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    // Names for the script, and for tests.
    let known = Set(matches(#"\.([a-z][a-z0-9-]*)"#, in: Stylesheet.text)).union(["facts", "help"])
    var count = 0
    for case let file as URL in files where file.pathExtension == "swift" {
      let source = try String(contentsOf: file, encoding: .utf8)
      for list in matches(#"class=\\?"([^"\\]*)"#, in: source) {
        for name in list.split(separator: " ") {
          #expect(known.contains(String(name)), "\(file.lastPathComponent) uses the class \(name)")
          count += 1
        }
      }
    }
    #expect(count > 50)
  }

  private func matches(_ pattern: String, in text: String) -> [String] {
    guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
    let whole = text as NSString
    return expression.matches(in: text, range: NSRange(location: 0, length: whole.length)).map {
      whole.substring(with: $0.range(at: 1))
    }
  }

  /// The relative luminance of WCAG 2.2.
  private func luminance(_ name: String, _ scheme: String) throws -> Double {
    let colour = try #require(Palette.colours.first { $0.name == name }, "\(name)")
    let digits = scheme == "dark" ? colour.dark : colour.light
    let number = try #require(digits.count == 6 ? Int(digits, radix: 16) : nil, "\(name)")
    let parts = [16, 8, 0].map { shift in
      let part = Double(number >> shift & 0xFF) / 255
      return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
  }
}
