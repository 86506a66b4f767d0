import Foundation
import Testing

/// Input and output outside of the store: standard input, and files given by the user.
@Suite("Standard input and files next to the store")
struct StandardInputTests {
  /// Runs the tool in a shell, to redirect its descriptors; `$0` is the tool, `$1` the store.
  private func shell(_ scratch: Scratch, _ command: String) throws -> ToolRun {
    try scratch.runProgram("/bin/sh", ["-c", #""$0" -s "$1" "# + command, Scratch.executable, scratch.store])
  }

  @Test("closed, or a directory: an error says so, and nothing happens")
  func unreadable() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    for command in ["load -", "blob put Note/1 data -"] {
      for (redirection, word) in [("<&-", "closed"), ("< /", "directory")] {
        let run = try shell(scratch, "--json \(command) \(redirection)")
        #expect(run.code == 1, "\(command) \(redirection)")
        let error = try run.error()
        #expect(error["kind"] as? String == "io")
        let message = error["message"] as? String ?? ""
        #expect(message.contains("standard input is") && message.contains(word), "\(message)")
      }
    }
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 1)
    try scratch.succeed("check")
  }

  @Test("a damaged value can be replaced from standard input")
  func replacesDamage() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    let marker = Data("MARKERMARKERMARKER".utf8)
    var bytes = Data()
    for _ in 0..<20_000 { bytes.append(marker) }
    try bytes.write(to: URL(fileURLWithPath: scratch.file("in.bin")))
    try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("in.bin"))
    let data = try Data(contentsOf: URL(fileURLWithPath: scratch.store + "/data.mdb"))
    let place = try #require(data.range(of: marker)).lowerBound
    let file = try #require(FileHandle(forUpdatingAtPath: scratch.store + "/data.mdb"))
    try file.seek(toOffset: UInt64(place + 5000))
    try file.write(contentsOf: Data("XXXX".utf8))
    try file.close()
    #expect(try scratch.tool("blob", "get", "Note/1", "data").code == 1)
    try scratch.succeed("blob", "put", "Note/1", "data", "-", input: "new")
    #expect(try scratch.succeed("blob", "get", "Note/1", "data").text == "new")
    try scratch.succeed("check", "--read-data")
    // Names are checked before the input is read.
    for names in [("Note/1", "name", "wrongType"), ("Note/1", "nope", "unknownProperty"), ("Note/9", "data", nil)] {
      let run = try scratch.tool("blob", "put", names.0, names.1, "-", "--json", input: "x")
      #expect(run.code == 1)
      if let kind = names.2 { #expect(try run.error()["kind"] as? String == kind) }
    }
  }

  @Test("the store's own files are neither read nor replaced")
  func storeFiles() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("insert", "Note")
    try scratch.succeed("blob", "put", "Note/1", "data", "-", input: "bytes")
    for name in ["data.mdb", "lock.mdb", "writer.lock"] {
      let file = "\(scratch.store)/\(name)"
      for arguments in [["blob", "put", "Note/1", "data", file], ["load", file]] {
        let run = try scratch.run(["--store", scratch.store, "--json"] + arguments)
        #expect(run.code == 1, "\(arguments)")
        #expect(try run.error()["kind"] as? String == "invalidFile", "\(arguments): \(run.errors)")
      }
    }
    let run = try scratch.tool("blob", "get", "Note/1", "data", "-o", scratch.store + "/data.mdb", "--json")
    #expect(try run.error()["kind"] as? String == "invalidFile")
    #expect(try scratch.succeed("blob", "get", "Note/1", "data").text == "bytes")
    try scratch.succeed("check", "--read-data")
  }

  /// Returns whether a process has an unnamed file open in the store's directory.
  private func isSpooling(_ process: Int32, _ scratch: Scratch) -> Bool {
    let manager = FileManager.default
    let folder = "/proc/\(process)/fd"
    let links = ((try? manager.contentsOfDirectory(atPath: folder)) ?? []).compactMap {
      try? manager.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
    }
    return links.contains { $0.hasSuffix("(deleted)") && $0.contains("/store/") }
  }

  @Test("a load waits for its standard input without the write lock")
  func slowInput() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    for options in [[], ["--batch", "2"]] {
      let before = try scratch.succeed("info", "--json").json()["objects"] as? Int ?? -1
      let load = scratch.process(["--store", scratch.store, "load", "-"] + options)
      let pipe = Pipe()
      load.standardInput = pipe
      load.standardOutput = FileHandle.nullDevice
      try load.run()
      for number in 1...3 {
        try pipe.fileHandleForWriting.write(contentsOf: Data("{\"id\":\"Item/\(number)\"}\n".utf8))
        try scratch.succeed("insert", "Item")
      }
      try pipe.fileHandleForWriting.close()
      load.waitUntilExit()
      #expect(load.terminationStatus == 0)
      #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == before + 6)
    }
    try scratch.succeed("check")
  }

  @Test("input that does not fit on the disk is an error, and leaves nothing")
  func fullDisk() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.store).sorted()
    // Blank lines do not increase the size of the store. The limit is in blocks of 512 bytes or 1 KiB, depending on the
    // shell: 1 or 2 MiB.
    let run = try scratch.runProgram(
      "/bin/sh",
      [
        "-c", #"ulimit -f 2048; yes "" | head -c 8000000 | "$0" -s "$1" --json load -"#, Scratch.executable,
        scratch.store,
      ])
    #expect(run.code == 1)
    #expect(try run.error()["kind"] as? String == "diskFull", "\(run.errors)")
    #expect(run.errors.contains("spooled"), "\(run.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.store).sorted() == names)
    try scratch.succeed("check")
  }

  @Test("a standard error that nothing reads stops no load that shows progress")
  func blockedProgress() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let load = scratch.process(["--store", scratch.store, "load", "-", "--verbose"])
    let (input, errors) = (Pipe(), Pipe())
    // A pipe buffers 64 KiB.
    try errors.fileHandleForWriting.write(contentsOf: Data(count: 65_536))
    load.standardInput = input
    load.standardOutput = FileHandle.nullDevice
    load.standardError = errors
    try load.run()
    // Progress is shown once a second.
    for number in 1...2 {
      try input.fileHandleForWriting.write(contentsOf: Data("{\"id\":\"Item/\(number)\"}\n".utf8))
      if number == 1 { Thread.sleep(forTimeInterval: 1.2) }
    }
    try input.fileHandleForWriting.close()
    let deadline = Date(timeIntervalSinceNow: 300)
    while load.isRunning, Date() < deadline { Thread.sleep(forTimeInterval: 0.02) }
    #expect(!load.isRunning, "it waits for its standard error")
    if load.isRunning { load.terminate() }
    load.waitUntilExit()
    #expect(load.terminationStatus == 0)
    #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == 2)
  }

  /// Starts a load of its standard input, which writes its errors to the file `err`. Returns the input.
  private func startLoad(_ options: [String], _ scratch: Scratch) throws -> (load: Process, input: FileHandle) {
    let load = scratch.process(["--store", scratch.store, "load", "-"] + options)
    let pipe = Pipe()
    load.standardInput = pipe
    load.standardOutput = FileHandle.nullDevice
    _ = FileManager.default.createFile(atPath: scratch.file("err"), contents: nil)
    load.standardError = FileHandle(forWritingAtPath: scratch.file("err"))
    try load.run()
    return (load, pipe.fileHandleForWriting)
  }

  @Test("an interrupted load says what its batches have committed")
  func interruptedBatches() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.store).sorted()
    for batch in [["--batch", "10"], []] {
      var before = try scratch.succeed("info", "--json").json()["objects"] as? Int ?? -1
      let (load, input) = try startLoad(batch, scratch)
      let lines = (1...25).map { "{\"id\":\"Item/\($0)\"}\n" }.joined()
      try input.write(contentsOf: Data(lines.utf8))
      let expected = batch.isEmpty ? 0 : 20
      // The load waits for more lines, with a partial batch or the whole input uncommitted.
      for _ in 0..<200 {
        let isDone = try scratch.succeed("info", "--json").json()["objects"] as? Int == before + expected
        if isDone, isSpooling(load.processIdentifier, scratch) { break }
      }
      #expect(isSpooling(load.processIdentifier, scratch))
      #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.store).sorted() == names)
      // Other writers are not blocked.
      try scratch.succeed("insert", "Item")
      before += 1
      load.interrupt()
      load.waitUntilExit()
      #expect(load.terminationReason == .exit && load.terminationStatus == 130)
      let text = String(decoding: try scratch.read("err"), as: UTF8.self)
      let outcome = batch.isEmpty ? "no partial changes remain" : "20 objects committed, no partial changes remain"
      #expect(text.contains("interrupted; \(outcome)"), "\(text)")
      #expect(try scratch.succeed("info", "--json").json()["objects"] as? Int == before + expected)
    }
  }

  @Test("an interrupted load lists what its committed batches have skipped", arguments: [[], ["--json"]])
  func interruptedSkips(_ option: [String]) throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    let before = try scratch.succeed("info", "--json").json()["objects"] as? Int ?? -1
    let (load, input) = try startLoad(["--batch", "2", "--skip-broken"] + option, scratch)
    // The last line waits for another one, and its batch is not committed.
    try input.write(contentsOf: Data("{\"id\":\"Item/1\"}\n{\n{\n".utf8))
    for _ in 0..<200 {
      let isDone = try scratch.succeed("info", "--json").json()["objects"] as? Int == before + 1
      if isDone, isSpooling(load.processIdentifier, scratch) { break }
    }
    load.interrupt()
    load.waitUntilExit()
    #expect(load.terminationReason == .exit && load.terminationStatus == 130)
    let text = String(decoding: try scratch.read("err"), as: UTF8.self)
    if option.isEmpty {
      let lines = text.split(separator: "\n")
      #expect(lines.count == 2 && lines.first?.hasPrefix("skipped: unreadableLine: line 2: ") == true, "\(text)")
      #expect(lines.last == "kvclone: interrupted; 1 object committed, no partial changes remain", "\(text)")
    } else {
      let error = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
      #expect(error["kind"] as? String == "interrupted" && error["code"] as? Int == 130, "\(text)")
      #expect(error["skippedLines"] as? Int == 1 && error["skippedLinks"] as? Int == 0, "\(text)")
      #expect((error["skipped"] as? [[String: Any]])?.map { $0["line"] as? Int } == [2], "\(text)")
    }
    try scratch.succeed("check")
  }
}
