// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
)

// Of returns the shard of an object: the first eight bytes of the SHA-256 sum of "<namespace>/<name>", as a big-endian
// number, modulo the number of shards. All replicas get the same result.
func Of(namespace, name string, shards int) int {
	return int(hash(namespace+"/"+name) % uint64(shards)) //nolint:gosec // less than shards, which is an int
}

func hash(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}

// assign returns the member that should hold each shard. All members get the same number of shards, or one more. Each
// pair of member and shard has a pseudo-random, fixed score, and the pairs with the highest scores win. So when a
// member joins, most shards that move go to it, and when one leaves, most shards that move are its own.
func assign(members []string, shards int) []string {
	owners := make([]string, shards)
	if len(members) == 0 {
		return owners
	}
	quota, extra := shards/len(members), shards%len(members)
	loads := make(map[string]int, len(members))
	for _, p := range ranking(members, shards) {
		load := loads[p.member]
		switch {
		case owners[p.shard] != "" || load > quota:
			continue
		case load == quota:
			if extra == 0 {
				continue
			}
			extra--
		}
		owners[p.shard] = p.member
		loads[p.member]++
	}
	return owners
}

type pair struct {
	member string
	shard  int
	score  uint64
}

func ranking(members []string, shards int) []pair {
	pairs := make([]pair, 0, len(members)*shards)
	for _, member := range members {
		for shard := range shards {
			pairs = append(pairs, pair{member: member, shard: shard, score: hash(member + "/" + strconv.Itoa(shard))})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.member, b.member), cmp.Compare(a.shard, b.shard))
	})
	return pairs
}
