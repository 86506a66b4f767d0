import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

@Suite("Options without an effect")
struct UnusedOptionTests {
  private let model = ManagedObjectModel("Plain") {
    EntityDescription("Note") { AttributeDescription("title", .string) }
  }

  private func warnings(_ change: (inout StoreOptions) -> Void) throws -> [String] {
    let engine = MemoryStorage()
    try ObjectStore.create(in: engine, model: model).close()
    engine.reopen()
    let log = LogLines()
    var options = StoreOptions()
    options.logger = log.logger
    change(&options)
    try StoreOpening.open(engine, path: "engine", model: model, options: options).close()
    return log.lines.filter { $0.contains("tune a data file") }
  }

  @Test("opening a store without a data file logs the options that tune one, and only those")
  func named() throws {
    let set = try warnings { options in
      options.journalMode = .writeAheadLog
      options.maximumReaders = 200
      options.busyTimeout = .seconds(1)
    }
    #expect(set.count == 1)
    #expect(set.first?.hasPrefix("warning StoreOptions.journalMode, maximumReaders tune") == true, "\(set)")
    #expect(try warnings { $0.busyTimeout = .seconds(1) }.isEmpty)
  }

  @Test("a store with a data file logs none of them")
  func file() throws {
    let directory = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let log = LogLines()
    var options = StoreOptions()
    options.logger = log.logger
    options.journalMode = .writeAheadLog
    try ObjectStore.create(at: directory + "/store", model: model, options: options).close()
    #expect(!log.lines.contains { $0.contains("tune a data file") })
  }
}
