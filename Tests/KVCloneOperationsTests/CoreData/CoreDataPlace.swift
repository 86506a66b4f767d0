import Foundation
import KVCloneTestSupport

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// A directory with a fixture, removed after the test.
final class CoreDataPlace {
  let root: String
  let database: String
  var store: String { root + "/imported" }

  init(_ fixture: CoreDataFixture = CoreDataFixture()) throws {
    root = try temporaryDirectory()
    database = try fixture.write(to: root)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  @discardableResult
  func run(skip: Bool = false) throws -> CoreDataImportReport {
    var options = CoreDataImportOptions()
    options.model = CoreDataFixture.model
    options.skipsBroken = skip
    return try ObjectStore.importCoreData(from: database, to: store, options: options)
  }

  @discardableResult
  func plan(skip: Bool = false) throws -> CoreDataImportReport {
    var options = CoreDataImportOptions()
    options.model = CoreDataFixture.model
    options.skipsBroken = skip
    return try ObjectStore.planCoreDataImport(from: database, options: options)
  }

  func open() throws -> ObjectStore { try ObjectStore.open(at: store) }

  /// The names in the directory other than the fixture's own.
  var others: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: root))?.filter {
      $0 != "App.sqlite" && $0 != ".App_SUPPORT"
    }.sorted()
      ?? []
  }
}

extension ObjectStore {
  func values(_ name: String, _ attributes: [String]) throws -> [AttributeValue?] {
    try read { transaction in
      let id = try transaction.objectID(named: name)
      var result: [AttributeValue?] = []
      for attribute in attributes { result.append(try transaction.value(id, attribute)) }
      return result
    }
  }

  func target(_ name: String, _ relationship: String) throws -> String? {
    try members(name, relationship).first
  }
}
