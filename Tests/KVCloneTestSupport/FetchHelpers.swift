import Foundation
import KVClone
package import KVCloneCore
package import KVCloneModel
package import KVCloneQuery

/// Returns an index over columns: `-name` descends, `~name` is canonical:(name).
package func fetchIndex(_ columns: String...) -> FetchIndexDescription {
  FetchIndexDescription(
    columns.joined(separator: "_"),
    columns.map { column in
      let name = column.trimmingCharacters(in: CharacterSet(charactersIn: "-~"))
      let isAscending = !column.contains("-")
      return column.contains("~")
        ? .init(expression: "canonical:(\(name))", ascending: isAscending) : .init(name, ascending: isAscending)
    })
}

package func day(_ seconds: Double) -> AttributeValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

extension ObjectReading where Self: ~Copyable {
  package borrowing func ids(_ request: FetchRequest, _ use: RequestPlanner.IndexUse) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      var ids: [ObjectID] = []
      try FetchExecutor.forEachResult(try FetchExecutor.compile(request, use: use, in: session), in: session) {
        (id, _) throws(StoreError) in
        ids.append(id)
        return true
      }
      return ids
    }
  }

  package borrowing func count(_ request: FetchRequest, _ use: RequestPlanner.IndexUse) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.count(
        try FetchExecutor.compile(request, isCount: true, use: use, in: session), in: session)
    }
  }

  package borrowing func plan(_ request: FetchRequest, _ use: RequestPlanner.IndexUse) throws(StoreError) -> [String] {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.compile(request, use: use, in: session).explanation(
        request.predicate, request.sortDescriptors, highest: 0)
    }
  }
}
