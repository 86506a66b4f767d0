import Foundation
import KVClone
import KVCloneMerge

let path = CommandLine.arguments.dropFirst().first ?? "magazine.kvclone"
let store = try ObjectStore.open(at: path, model: magazine)

func picture(_ caption: String, of article: ObjectID, _ tx: inout WriteTransaction) throws -> ObjectID {
  let image = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* caption.count) })
  return try tx.insert(
    "Picture", ["caption": .string(caption), "image": .binary(image)], relationships: ["article": [article]])
}

let article = try store.write { tx in
  let ada = try tx.insert("Person", ["name": "Ada"])
  let article = try tx.insert("Article", ["title": "Winter"], relationships: ["authors": [ada]])
  for caption in ["Harbour", "Lighthouse", "Ridge"] { _ = try picture(caption, of: article, &tx) }
  return article
}

func printArticle(_ article: ObjectID) throws {
  try store.read { tx in
    let title: String = try tx.object(article).decode("title")
    let captions: [String] = try tx.members(article, "pictures").map { try tx.object($0).decode("caption") }
    print(title, captions)
  }
}
try printArticle(article)

var options = CloneOptions()
options.keepsBase = true
let cloned = try store.clone([article], options: options)
let draft = cloned.root
print("draft:", cloned.objectCount, "objects,", cloned.blobsShared, "pictures shared")

try store.write { tx in
  tx.author = "Ada"
  try tx.set(draft, "title", "Winter in Iceland")
  try tx.setMembers(draft, "pictures", try tx.members(draft, "pictures").reversed())
}
try store.write { tx in
  tx.author = "Ben"
  let harbour = try tx.members(draft, "pictures")[2]
  try tx.set(harbour, "caption", "Old harbour")
  _ = try picture("Aurora", of: draft, &tx)
}
try store.write { tx in try tx.set(article, "title", "Winter 2026") }
try printArticle(article)

let plan = try store.drafts.planMerge(draft)
for conflict in plan.conflicts {
  print("conflict:", conflict.object, conflict.property ?? "")
}

var merge = MergeOptions()
merge.answers = plan.conflicts.map { AnsweredConflict($0, .theirs) }
try store.drafts.merge(draft, options: merge)
try printArticle(article)
let exists = try store.read { tx in try tx.object(ifExists: draft) != nil }
print("draft exists:", exists)
store.close()
