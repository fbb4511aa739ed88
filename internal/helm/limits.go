// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"maps"
	"slices"
)

const (
	// MaxOutput is the limit for all files of a rendered chart together, in bytes: 16 MiB.
	MaxOutput = 16 << 20
	// maxDepth is how often the engine lets a template include itself.
	maxDepth = 1000
)

// checkOutput runs after rendering, because the engine writes into buffers of its own.
func checkOutput(files map[string]string) error {
	var total int
	var largest string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		total += len(files[name])
		if largest == "" || len(files[name]) > len(files[largest]) {
			largest = name
		}
	}
	if total <= MaxOutput {
		return nil
	}
	return fmt.Errorf("its templates yield %d bytes of text, %d of them %s; at most %d bytes are allowed", total, len(files[largest]), largest, MaxOutput)
}
