#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

extension StoreChecker {
  /// Checks that an object's derived attributes have the values of their expressions. Excludes times, sums that depend
  /// on the order of their members, and stores that have not been opened for writing since their model was changed.
  borrowing func checkDerived(
    _ view: borrowing RecordView, _ id: ObjectID, _ entity: CompiledEntity, _ run: CheckRun
  ) throws(StoreError) {
    guard run.checksDerived, let rules = session.schema.derivations.entity(entity.code) else { return }
    for (derivation, attribute) in rules.own where derivation.function != .now {
      do throws(StoreError) {
        let (value, isExact) = try DerivedValues.value(
          derivation, id, view, entity, now: Date(timeIntervalSinceReferenceDate: 0), in: session)
        if isExact, try session.storedValue(attribute, id, view) != value {
          run.report(
            .derivedMismatch, id, entity, property: attribute.path, page: run.page(id),
            "\(attribute.path) differs from the value that its sources yield")
        }
      } catch {
        // A source is missing or corrupted: reported there.
        guard error.kind == .corrupted || error.kind == .objectNotFound else { throw error }
      }
    }
  }
}
