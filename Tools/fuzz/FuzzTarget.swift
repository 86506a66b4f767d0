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

  static let all: [FuzzTarget] =
    valueTargets + recordTargets + keyTargets + textTargets + storeTargets + predicateTargets
    + mappingTargets + sqliteTargets
}

/// The target that this run is of: KVCLONE_FUZZ_TARGET.
private let chosen: FuzzTarget = {
  let name = ProcessInfo.processInfo.environment["KVCLONE_FUZZ_TARGET"] ?? ""
  if name == "list" {
    for target in FuzzTarget.all { print(target.name) }
    exit(0)
  }
  guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
    FileHandle.standardError.write(Data("KVCLONE_FUZZ_TARGET names no target: '\(name)'\n".utf8))
    exit(64)
  }
  return target
}()

/// Called once by the fuzzer, before anything else. Writes the seeds into KVCLONE_FUZZ_SEEDS.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> Int32 {
  let target = chosen
  guard let folder = ProcessInfo.processInfo.environment["KVCLONE_FUZZ_SEEDS"] else { return 0 }
  for (index, seed) in target.seeds.enumerated() {
    FileManager.default.createFile(atPath: "\(folder)/seed-\(index)", contents: Data(seed))
  }
  return 0
}

/// Called for every input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  chosen.run(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
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
