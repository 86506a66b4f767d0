import Foundation
import KVClone
import KVCloneModel
import KVCloneTestSupport

@testable import KVCloneCore

/// Texts of predicates and expressions: a parsed one can be printed, parsed again, and used in a fetch.
let predicateTargets: [FuzzTarget] = [
  FuzzTarget(name: "predicate", seeds: predicateSeeds, run: predicate),
  FuzzTarget(name: "request", seeds: predicateSeeds, run: request),
]

private let predicateSeeds = [
  "title BEGINSWITH[cd] 'a' AND (number > 3 OR NOT folder.code == \"A\") && TRUEPREDICATE",
  "SUBQUERY(items, $x, $x.number IN {1, 2.5, NULL} AND ANY $x.folder.items.number BETWEEN {1, 2}).@count > 0",
  "NONE items.favorite.number == %@ OR related[FIRST] == SELF || items.@max.number ** 2 >= -1e3",
  "CAST(due, 'NSNumber') < now() - 0x1F AND TERNARY(title LIKE 'a?*', 1, sum({1, 2})) != 0",
  "title MATCHES '[a-z]+' AND function(number, 'add:to:', 1) == 2 AND $VARIABLE == YES AND @#K.x == %K",
].map { Array($0.utf8) }

private let fillings: [QueryArgument] = [.integer(2), .string("title"), .null, .list([.integer(1), .string("x")])]

@Sendable private func predicate(_ bytes: UnsafeRawBufferPointer) {
  let format = String(decoding: bytes, as: UTF8.self)
  do {
    let parsed = try QueryPredicate(format: format, arguments: fillings)
    let printed = parsed.predicateFormat
    let again = try? QueryPredicate(format: printed)
    precondition(again == parsed, "what was printed reads as something else: \(printed)")
    _ = try? parsed.substituting(["VARIABLE": .integer(1), "x": .list(fillings)])
  } catch let error as QueryFormatError {
    precondition(
      error.column >= 0 && error.column <= format.unicodeScalars.count + 1, "the column is outside of the text")
  } catch {
    preconditionFailure("another error than what the parser says: \(error)")
  }
  guard let expression = try? QueryExpression(format: format) else { return }
  precondition(
    (try? QueryExpression(format: expression.expressionFormat)) == expression, "an expression reads differently")
}

/// A store that is only read, so that it is the same for every input.
private let store: ObjectStore = {
  do {
    return try StoreOpening.assemble(
      TemplateStore.shared.engine, path: "memory", model: nil, options: StoreOptions())
  } catch {
    preconditionFailure("the template cannot be opened: \(error)")
  }
}()

@Sendable private func request(_ bytes: UnsafeRawBufferPointer) {
  let format = String(decoding: bytes, as: UTF8.self)
  // Regular expressions are excluded, because a pattern can take exponential time.
  guard !format.uppercased().contains("MATCHES") else { return }
  guard let predicate = try? QueryPredicate(format: format, arguments: fillings) else { return }
  for entity in ["Item", "Folder", "Thing"] {
    try? store.read { tx in
      let wanted = FetchRequest(entity, predicate: predicate)
      let found = try tx.fetchIDs(wanted)
      let count = try tx.count(wanted)
      precondition(count == found.count, "a count differs from what is found")
      let others = try tx.count(FetchRequest(entity, predicate: .not(predicate)))
      let all = try tx.count(FetchRequest(entity))
      // The functions now() and random() return other values on each evaluation.
      if !format.lowercased().contains("now"), !format.lowercased().contains("random") {
        precondition(found.count + others == all, "a predicate and its opposite do not share all objects")
      }
      _ = try tx.explain(wanted)
    }
  }
  guard let expression = try? QueryExpression(format: format) else { return }
  var grouped = FetchRequest("Item", sortDescriptors: [QuerySortDescriptor(expression)])
  _ = try? store.read { tx in try tx.fetchIDs(grouped) }
  grouped.propertiesToFetch = [ExpressionDescription("value", expression), ExpressionDescription(keyPath: "number")]
  _ = try? store.read { tx in try tx.fetchDictionaries(grouped) }
  grouped.propertiesToGroupBy = [ExpressionDescription(keyPath: "number")]
  _ = try? store.read { tx in try tx.fetchDictionaries(grouped) }
}
