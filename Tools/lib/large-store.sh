#!/usr/bin/env bash
# usage: large-store.sh KVCLONE STORE COUNT
# Creates a store with COUNT objects of two subentities with an indexed number: a photo first, then two notes. The first
# 100 of them are in a folder, and one photo has an image. Each number occurs once if COUNT is no multiple of 7919,
# which is prime. Serials and the numbers in titles are equal.
set -euo pipefail
kvclone=$1 store=$2 count=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/Large.xcdatamodel"
cat >"$folder/Large.xcdatamodel/contents" <<'XML'
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
  <entity name="Folder">
    <attribute name="name" optional="YES" attributeType="String"/>
    <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Item"
      inverseName="folder" inverseEntity="Item"/>
  </entity>
  <entity name="Item" isAbstract="YES">
    <attribute name="number" optional="YES" attributeType="Integer 64"/>
    <attribute name="title" optional="YES" attributeType="String"/>
    <relationship name="folder" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Folder"
      inverseName="items" inverseEntity="Folder"/>
    <fetchIndex name="byNumber"><fetchIndexElement property="number" type="Binary" order="ascending"/></fetchIndex>
  </entity>
  <entity name="Note" parentEntity="Item"/>
  <entity name="Photo" parentEntity="Item">
    <attribute name="image" optional="YES" attributeType="Binary"/>
  </entity>
</model>
XML
"$kvclone" --store "$store" --quiet init --model "$folder/Large.xcdatamodel"
awk -v count="$count" 'BEGIN {
  print "{\"id\":\"Folder/1\",\"attributes\":{\"name\":\"first\"}}"
  for (i = 1; i <= count; i++)
    printf "{\"id\":\"%s/%d\",\"attributes\":{\"number\":%d,\"title\":\"title %d\"}%s}\n",
      i % 3 == 1 ? "Photo" : "Note", i, i * 7919 % count, i,
      i <= 100 ? ",\"relationships\":{\"folder\":\"Folder/1\"}" : ""
}' | "$kvclone" --store "$store" --quiet --no-progress load - --batch 100000
# A bitmap of 32 × 32 grey pixels: large enough to be a blob.
{ printf 'BM\x36\x0c\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x20\x00\x00\x00\x20\x00\x00\x00'
  printf '\x01\x00\x18\x00\x00\x00\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
  head -c 3072 /dev/zero | tr '\0' '\200'
} >"$folder/image.bmp"
"$kvclone" --store "$store" --quiet blob put Photo/7 image "$folder/image.bmp"
