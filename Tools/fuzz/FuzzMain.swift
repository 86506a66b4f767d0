import Foundation

/// The target of this run: KVCLONE_FUZZ_TARGET.
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

/// Called once by the fuzzer before the first input. Writes the seeds and the kept inputs into KVCLONE_FUZZ_SEEDS.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> Int32 {
  let target = chosen
  guard let folder = ProcessInfo.processInfo.environment["KVCLONE_FUZZ_SEEDS"] else { return 0 }
  for (index, seed) in (target.seeds + target.kept).enumerated() {
    FileManager.default.createFile(atPath: "\(folder)/seed-\(index)", contents: Data(seed))
  }
  return 0
}

/// Called by the fuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  chosen.run(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}
