import Foundation

/// One codec under the fuzzer: bytes in, and what has to hold of them.
///
/// A target ends the process by a precondition where a property is broken; whatever traps or reads out of bounds does so
/// by itself. Throwing is what a codec does with bad bytes, and is caught in the target.
struct FuzzTarget: Sendable {
  let name: String
  /// Inputs to begin with, so that the fuzzer need not guess a format's beginning.
  let seeds: [[UInt8]]
  let run: @Sendable (UnsafeRawBufferPointer) -> Void

  /// Inputs that reach more of the target than ``seeds`` do, as `Tools/test --fuzz --keep` wrote them down: base64, a line each.
  var kept: [[UInt8]] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Corpus/\(name).txt")
    guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").map { Array(Data(base64Encoded: String($0)) ?? Data()) }
  }

  static let all: [FuzzTarget] =
    valueTargets + recordTargets + keyTargets + textTargets + storeTargets + predicateTargets
    + mappingTargets + modelTargets + sqliteTargets + loadTargets
}

/// Reads what a target needs besides the bytes under test from the front of an input.
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

/// Ends the process with a message, which an optimized build's precondition does not tell.
func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  abort()
}
