#if Postgres
  import Foundation
  import KVClone
  import KVCloneCore

  /// The content of a store that the writers of failover tests change: numbered transactions, each with several linked
  /// objects, and an object that all of them change.
  struct FailoverContent: Equatable {
    /// A transaction of a writer.
    struct Number: Hashable {
      let writer: Int
      let sequence: Int
    }

    static let model = ManagedObjectModel("Failover") {
      EntityDescription("Counter") { AttributeDescription("value", .integer64) }
      EntityDescription("Batch", unique: [["writer", "sequence"]]) {
        AttributeDescription("writer", .integer64)
        AttributeDescription("sequence", .integer64)
        RelationshipDescription("parts", toMany: "Part", inverse: "batch")
      }
      EntityDescription("Part") {
        AttributeDescription("text", .string)
        RelationshipDescription("batch", toOne: "Batch", inverse: "parts")
      }
    }

    /// The transactions that are present.
    private(set) var numbers: Set<Number> = []
    /// Transactions that are present in part.
    private(set) var torn: [String] = []

    /// Inserts the objects of a transaction, and counts it.
    static func write(_ number: Number, counter: ObjectID, _ store: ObjectStore) throws -> ObjectID {
      try store.write(label: "writer \(number.writer)") { tx in
        let value = integer(try tx.value(counter, "value"))
        try tx.set(counter, "value", .integer(Int64(value + 1)))
        let batch = try tx.insert(
          "Batch", ["writer": .integer(Int64(number.writer)), "sequence": .integer(Int64(number.sequence))])
        for text in texts(number) {
          try tx.insert("Part", ["text": .string(text)], relationships: ["batch": [batch]])
        }
        return batch
      }
    }

    /// Reads all of a store in one transaction.
    init(_ store: ObjectStore) throws {
      var (numbers, torn): (Set<Number>, [String]) = ([], [])
      try store.read { tx in
        var parts: [ObjectID: String] = [:]
        try tx.forEachObject(of: "Part") { part in
          if case .string(let text) = part["text"] { parts[part.id] = text }
          return true
        }
        var batches: [(id: ObjectID, number: Number)] = []
        try tx.forEachObject(of: "Batch") { batch in
          batches.append(
            (batch.id, Number(writer: Self.integer(batch["writer"]), sequence: Self.integer(batch["sequence"]))))
          return true
        }
        for (id, number) in batches {
          let texts = try tx.members(id, "parts").map { parts.removeValue(forKey: $0) ?? "none" }
          if texts.sorted() != Self.texts(number) { torn.append("\(number) has the parts \(texts)") }
          if !numbers.insert(number).inserted { torn.append("\(number) is there twice") }
        }
        if !parts.isEmpty { torn.append("\(parts.count) parts have no batch") }
        var counts: [Int] = []
        try tx.forEachObject(of: "Counter") { counter in
          counts.append(Self.integer(counter["value"]))
          return true
        }
        if counts != [numbers.count] { torn.append("\(numbers.count) transactions were counted as \(counts)") }
      }
      (self.numbers, self.torn) = (numbers, torn)
    }

    /// Returns the error if the objects of a transaction, which may be missing, are there in part.
    ///
    /// The id can belong to another transaction: a failover that loses commits frees ids.
    static func tornBatch(_ batch: ObjectID, _ store: ObjectStore) throws -> String? {
      try store.read { tx in
        guard let object = try tx.object(ifExists: batch) else { return nil }
        let number = Number(writer: integer(object["writer"]), sequence: integer(object["sequence"]))
        var found: [String] = []
        for part in try tx.members(batch, "parts") {
          if case .string(let text) = try tx.value(part, "text") { found.append(text) }
        }
        return found.sorted() == texts(number) ? nil : "\(number) was read with the parts \(found)"
      }
    }

    private static func texts(_ number: Number) -> [String] {
      (0..<3).map { "\(number.writer)-\(number.sequence)-\($0)" }
    }

    private static func integer(_ value: AttributeValue?) -> Int {
      if case .integer(let number) = value { return Int(number) }
      return -1
    }
  }
#endif
