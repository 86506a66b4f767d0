import Foundation
import Testing

/// The texts of kinds and phases are a contract: scripts compare the JSON field `kind`, whatever the Swift names are.
struct StableKindTests {
  /// Every text that was released. Add the texts of new kinds; never change or remove one.
  private static let released: [String: String] = [
    "CloneError.Kind": """
    cancelled diskFull excludedAttributeIsRequired idempotencyKeyReused incompatibleModel
    invalidConfiguration invalidValue inverseTaken limitExceeded mapFull maxCountExceeded noStore
    objectNotFound outsideObjectUnmatched parentUnavailable rebuildTypeMismatch
    requiredRelationshipExcluded uniquenessConflict unknownEntity unknownRelationship
    """,
    "CoreDataImportError.Kind": """
    ambiguousColumn changedDatabase damagedDatabase danglingReference disagreement hotJournal
    invalidFile invalidKey modelMismatch modelMissing notACoreDataStore notADatabase outOfRange refused
    requiredValueMissing unknownEntity unreadableDatabase unreadableModel unsupportedDatabase
    wrongDestination wrongType
    """,
    "IntegrityIssue.Kind": """
    abstractEntity blob blobCount branch counter danglingLink derivedMismatch duplicateValues history
    indexEntry layout list malformedKey metadata missingBlob missingIndexEntry oneSidedLink orphanBlob
    orphanList page pageLeak record snapshot staleIndexEntry table unreadableTable value
    wrongDestination
    """,
    "MappingModelError.Kind": """
    duplicateMapping duplicateProperty noEntity noPolicy typeMismatch unknownEntity unknownMapping
    unknownProperty
    """,
    "MergeError.Kind": """
    baseExpired brokenRules cancelled draftInUse idempotencyKeyReused incompatibleModel invalidAnswer
    invalidMergeRule limitExceeded mergeConflicts notRelated rootDeleted staleAnswers
    """,
    "ModelError.Kind": """
    conflictingRedeclaration cyclicComposite cyclicDerivation cyclicInheritance defaultTypeMismatch
    duplicateComposite duplicateEntity duplicateProperty duplicateUserInfoKey invalidName
    rebuildTypeMismatch tooLarge unknownCloneRule unknownComposite unknownDestination unknownSuperentity
    untypedAttribute
    """,
    "ModelFileError.Kind": """
    alreadyExists binaryModel brokenMapping currentVersionUnknown forbiddenDeclaration inexpressible
    invalidModel limitExceeded malformed missingAttribute noVersion notAMapping notAModel notFound
    notUTF8 optimizedModel tooLarge unknownAttributeType unknownVersion unreadable unreadableArchive
    unsupportedArchive unwritable
    """,
    "ModelWarning.Kind": """
    contradictoryDefault currentVersion impossibleBounds impossibleCount meaninglessFlag missingInverse
    notInferable oneSidedInverse strayFile unidentifiedRename unknownContent unknownWithoutParentRule
    unmatchedRenamingIdentifier unreadablePattern unreadableValue untypedAttribute unusableConstraint
    unusableDerivation unusableIndex unusableMapping unusableReference
    """,
    "OperationProgress.Phase": """
    apply check commit copy delete didMigrate gather index link links mark mend move objects opening
    publish read renew rewrite sync verify wait willMigrate
    """,
    "QueryFormatError.Kind": """
    capturedVariable emptyFormat invalidCast invalidEscape invalidKeyPath invalidNumber invalidOperand
    invalidOption invalidSpecifier invalidValue nestingTooDeep tooFewArguments tooManyArguments
    unclosedParenthesis unclosedString unexpectedEnd unexpectedToken unknownCollectionOperator
    unknownFunction unsupported wrongArgumentCount wrongArgumentType
    """,
    "SalvageLoss.Kind": """
    doubtfulObject link list metadata object objects order state value
    """,
    "SpaceUsage.Kind": """
    branches free history indexes largeValues lists metadata objects overhead previousStates provenance snapshots
    unknown unused
    """,
    "StoreError.Kind": """
    abstractEntity alreadyOpen branchExists branchNotFound brokenChain busy cancelled changedSince closed
    commitLost commitUnknown damaged deleteDenied diskFull fileExists forked historyExpired historyOff hookFailed incompatibleModel
    incrementalBackup invalidBranchName invalidDestination invalidHistoryToken invalidIndex invalidMapping invalidModel
    invalidObject invalidObjectName invalidPredicate invalidSnapshotName invalidStage io limitExceeded
    mapFull nestedWrite newerFormat noStore notAStore notConvertible notInferable notUnique
    objectNotFound olderFormat outOfRange readOnly readersFull snapshotExists snapshotExpired
    snapshotHeld snapshotInUse snapshotNotFound snapshotNotHeld stageFailed storeExists storeMoved tooManySnapshots
    transactionAborted transformFailed unknownEntity unknownProperty unknownTransformer unsupportedByEngine
    unsupportedOnBranch wrongDestination wrongType
    """,
    "TransferError.Kind": """
    abstractEntity danglingID disagreement duplicateID incompatibleHeader invalidFile outOfRange refused
    unknownEntity unknownProperty unreadableLine wrongDestination wrongType
    """,
    "ValidationIssue.Kind": """
    patternMismatch refusedByHook requiredRelationshipMissing requiredValueMissing stringTooLong
    stringTooShort tooFewMembers tooManyMembers uniquenessConflict valueTooLarge valueTooSmall
    """,
  ]

  @Test("the texts of kinds are those that were released")
  func texts() {
    var found: [String: [String]] = [:]
    for path in PackageFiles.all where path.hasPrefix("Sources/") && path.hasSuffix(".swift") {
      guard let text = PackageFiles.text(path) else { continue }
      for (type, raw) in Self.kinds(in: text) { found[type, default: []].append(raw) }
    }
    #expect(
      found.mapValues { $0.sorted() } == Self.released.mapValues { $0.split { " \n".contains($0) }.map(String.init) })
    for (type, texts) in found { #expect(Set(texts).count == texts.count, "\(type) has a text twice") }
  }

  @Test("a planted kind is found with its type")
  func planted() {
    let source = """
      public struct AnError: Error {
        public struct Kind {
          public static let renamed = Kind(rawValue: "old")
        }
      }
      """
    #expect(Self.kinds(in: source).map { "\($0.0) \($0.1)" } == ["AnError.Kind old"])
  }

  private static func kinds(in text: String) -> [(String, String)] {
    var type = ""
    var found: [(String, String)] = []
    for line in text.split(separator: "\n") {
      if let match = line.prefixMatch(of: /(?:public struct|public enum|public final class|extension) (\w+)/) {
        type = String(match.1)
      }
      if let match = line.firstMatch(of: /public static let \w+ = (?:\w+\.)?(Kind|Phase)\(rawValue: "(\w+)"\)/) {
        found.append(("\(type).\(match.1)", String(match.2)))
      }
    }
    return found
  }
}
