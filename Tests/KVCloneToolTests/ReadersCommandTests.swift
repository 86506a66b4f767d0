import Foundation
import KVClone
import Testing

@Suite("kvclone: readers")
struct ReadersCommandTests {
  /// Starts a second process that holds a pinned snapshot until its input ends.
  static func pin(_ scratch: Scratch) throws -> Process {
    let process = Process()
    let folder = (Scratch.executable as NSString).deletingLastPathComponent
    process.executableURL = URL(fileURLWithPath: folder + "/KVClonePeer")
    process.arguments = ["pin", scratch.store, "theirs"]
    let output = Pipe()
    process.standardInput = Pipe()
    process.standardOutput = output
    try process.run()
    #expect(!output.fileHandleForReading.availableData.isEmpty)
    return process
  }

  private static func readers(_ run: ToolRun) throws -> [[String: Any]] {
    try #require(try run.json()["readers"] as? [[String: Any]])
  }

  @Test("another process's reader is listed, found dead, and cleared")
  func readers() throws {
    let scratch = try Scratch()
    try scratch.makeStore()
    try scratch.succeed("history", "--on")
    #expect(try scratch.succeed("readers").text == "no readers\n")
    #expect(try scratch.succeed("readers", "--json").text == "{\"readers\":[],\"cleared\":0,\"writer\":null}\n")
    // LMDB creates a new reader table for the first process that opens the file, so this process keeps the file open.
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try ObjectStore.open(at: scratch.store, options: options)
    defer { store.close() }
    let peer = try Self.pin(scratch)
    defer { if peer.isRunning { kill(peer.processIdentifier, SIGKILL) } }
    let fresh = try #require(try Self.readers(try scratch.succeed("readers", "--json")).first)
    #expect(fresh["lag"] as? Int == 0 && fresh["retainedBytes"] as? Int == 0 && fresh["age"] is NSNull)
    for _ in 1...3 { try scratch.succeed("insert", "Note", "name=a") }
    var readers = try Self.readers(try scratch.succeed("readers", "--json"))
    #expect(readers.count == 1)
    #expect(readers[0]["pid"] as? Int == Int(peer.processIdentifier))
    #expect(readers[0]["owner"] as? String == "KVClonePeer" && readers[0]["kind"] as? String == "unknown")
    #expect(readers[0]["self"] as? Bool == false && readers[0]["stale"] as? Bool == false)
    #expect(readers[0]["thread"] is NSNumber && readers[0]["lag"] as? Int == 3)
    #expect((readers[0]["retainedBytes"] as? Int ?? 0) > 0 && (readers[0]["age"] as? Double ?? -1) >= 0)
    let lines = try scratch.succeed("readers").text.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(lines.count == 2 && lines[0] == ["PID", "OWNER", "AGE", "LAG", "RETAINED"])
    #expect(lines[1].prefix(2) == ["\(peer.processIdentifier)", "KVClonePeer"])
    #expect(try scratch.succeed("readers", "--clear-stale").text.hasPrefix("cleared 0 stale reader slots\nPID "))

    kill(peer.processIdentifier, SIGKILL)
    peer.waitUntilExit()
    readers = try Self.readers(try scratch.succeed("readers", "--json"))
    #expect(readers.count == 1 && readers[0]["stale"] as? Bool == true)
    #expect(try scratch.succeed("readers").text.contains("(stale)"))
    let cleared = try scratch.succeed("readers", "--clear-stale", "--json").json()
    #expect(cleared["cleared"] as? Int == 2 && (cleared["readers"] as? [Any])?.isEmpty == true)
    #expect(try scratch.succeed("readers", "--clear-stale").text == "cleared 0 stale reader slots\nno readers\n")
    #expect(try scratch.succeed("readers", "--quiet").text.isEmpty)
    try scratch.succeed("check")
  }

  @Test("a missing store, and a path that is not a store")
  func errors() throws {
    let scratch = try Scratch()
    #expect(try scratch.tool("readers").code == 10)
    try scratch.write("", to: "store")
    let none = try scratch.tool("readers", "--json")
    #expect(none.code == 1)
    #expect(try none.error()["kind"] as? String == "notAStore")
    #expect(try scratch.tool("readers", "extra").code == 64)
  }
}
