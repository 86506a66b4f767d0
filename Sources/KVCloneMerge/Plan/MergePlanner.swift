#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// Plans a three-way merge from states alone. Nothing is written, and nothing is read of objects that theirs did not
/// change, except for those that its changes lead to.
package enum MergePlanner {
  /// Returns the plan of merging theirs into ours.
  ///
  /// - Parameters:
  ///   - scratchDirectory: the directory of a temporary file for a plan of many changes.
  ///   - keepsOrders: whether an object's lists keep the order of ours: for objects outside a draft (P4).
  ///   - clones: the role of a draft's clones in the rules of the model; nil for a merge of branches.
  ///   - addValues: adds values that follow from the merged ones, before the rules are validated; gets the attributes of
  ///     the result, and the inserted objects.
  /// - Throws: ``MergeError`` for rules and answers that cannot be used; the error of `options.resolve`; errors of the
  ///   states.
  package static func plan(
    _ schema: Schema, ours: MergeSideStates, theirs: MergeSideStates, options: MergeOptions = MergeOptions(),
    scratchDirectory: String = FileManager.default.temporaryDirectory.path,
    clones: CloneRemainder? = nil, addValues: (MergedAttributes, ObjectSet) throws -> Void = { _, _ in },
    keepsOrders: (ObjectID) -> Bool = { _ in false }
  ) throws -> PlannedMerge {
    let run = try MergeRun(schema, ours, theirs, options, scratchDirectory)
    try run.classify()
    try run.decideDeletions()
    try run.mergeAttributes()
    try run.mergeLinks()
    try run.settlePartners()
    try run.cascade()
    try run.dropLinksOfMissingObjects()
    try addValues(run.attributes, run.inserted)
    try run.uniteObjects(clones)
    try run.mergeOrders(keepsOrders)
    try run.validate(clones)
    return try run.plan()
  }
}
