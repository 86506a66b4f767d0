import Foundation

/// A codec under the fuzzer: a function that checks the properties of arbitrary bytes.
///
/// A target ends the process with a precondition if a property is violated; traps and reads out of bounds end it as
/// well. A codec throws for invalid bytes, and the target catches the error.
struct FuzzTarget: Sendable {
  let name: String
  /// Initial inputs, so that the fuzzer does not have to find the start of a format.
  let seeds: [[UInt8]]
  let run: @Sendable (UnsafeRawBufferPointer) -> Void

  /// Inputs that extend the coverage of ``seeds``, written by `Tools/test --fuzz --keep`: base64, one per line.
  var kept: [[UInt8]] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Corpus/\(name).txt")
    guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").map { Array(Data(base64Encoded: String($0)) ?? Data()) }
  }

  static let all: [FuzzTarget] =
    valueTargets + recordTargets + keyTargets + textTargets + storeTargets + predicateTargets
    + mappingTargets + modelTargets + sqliteTargets + loadTargets + explorerTargets
}

/// Reads parameters of a target from the start of an input; the remaining bytes are under test.
struct FuzzInput {
  private var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes
  }

  mutating func byte() -> UInt8 {
    guard let first = rest.first else { return 0 }
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    return first
  }

  mutating func number() -> UInt64 {
    (0..<8).reduce(0) { number, _ in number << 8 | UInt64(byte()) }
  }

  mutating func bytes(atMost count: Int) -> [UInt8] {
    let part = Array(rest.prefix(count))
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    return part
  }

  var remaining: [UInt8] { Array(rest) }
  var isAtEnd: Bool { rest.isEmpty }
}

/// Ends the process with a message, which a precondition in an optimized build does not print.
func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  abort()
}
