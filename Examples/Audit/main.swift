// Keeps a ledger with an audit trail: lists in the history which process changed what, and compares, reads and rolls
// back to a snapshot.
//
//   swift run --package-path Examples Audit [STORE]

import Foundation
import KVClone

let model = ManagedObjectModel("Ledger") {
  EntityDescription("Account", unique: [["owner"]]) {
    AttributeDescription("owner", .string, optional: false)
    AttributeDescription("balance", .decimal, optional: false, default: 0)
    RelationshipDescription("entries", toMany: "Entry", inverse: "account", ordered: true, deleteRule: .cascade)
  }
  EntityDescription("Entry") {
    AttributeDescription("amount", .decimal, optional: false)
    RelationshipDescription("account", toOne: "Account", inverse: "entries", optional: false)
  }
}

/// Posts an amount: inserts an entry and updates the balance in the same transaction.
func book(_ amount: Decimal, to account: ObjectID, as author: String) throws {
  try store.write { tx in
    tx.author = author
    let balance: Decimal = try tx.object(account).decode("balance")
    try tx.insert("Entry", ["amount": amount], relationships: ["account": [account]])
    try tx.set(account, "balance", balance + amount)
  }
}

func balance(_ tx: borrowing ReadTransaction, _ account: ObjectID) throws -> Decimal {
  try tx.object(account).decode("balance")
}

var options = StoreOptions()
options.tracksHistory = true
let store = try ObjectStore.open(
  at: CommandLine.arguments.dropFirst().first ?? "ledger.kvclone", model: model, options: options)

let ada = try store.write { tx in try tx.insert("Account", ["owner": "Ada \(UUID())"]) }
try book(100, to: ada, as: "import")

let closing = try store.createSnapshot(named: "closing-\(ada.serial)")
let token = try store.currentToken()
try book(-30, to: ada, as: "till-1")
try book(-45, to: ada, as: "till-2")

for transaction in try store.history(after: token) {
  print("\(transaction.author): inserted \(transaction.insertedCount), updated \(transaction.updatedCount)")
}
for difference in try store.diff(from: closing) {
  print("\(difference.kind) \(difference.name) \(difference.propertyNames)")
}
print(
  "closing:", try closing.read { tx in try balance(tx, ada) }, "now:", try store.read { tx in try balance(tx, ada) })

let plan = try store.planRollback(to: closing)
let result = try store.rollback(to: closing)
print("rolled back: \(result.updatedCount) objects (planned \(plan.updatedCount))")
print("balance:", try store.read { tx in try balance(tx, ada) })
for snapshot in try store.snapshots() { print("snapshot, automatic: \(snapshot.isAutomatic)") }
store.close()
