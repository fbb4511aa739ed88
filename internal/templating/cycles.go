// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"reflect"
)

// acyclic returns replacements for those functions of sprig by which a map could become a part of itself. Printing or
// copying such a map would overflow the stack, which ends the process.
func acyclic(sprig map[string]any) map[string]any {
	safe := map[string]any{"set": checked(sprig["set"], func(arguments []reflect.Value) error {
		if isCyclic(arguments[2].Interface(), map[uintptr]bool{arguments[0].Pointer(): true}) {
			return fmt.Errorf("setting %q: a map cannot be a part of itself", arguments[1])
		}
		return nil
	})}
	for _, name := range []string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"} {
		merge := reflect.ValueOf(sprig[name])
		safe[name] = func(target map[string]any, sources ...map[string]any) (any, error) {
			results := merge.CallSlice([]reflect.Value{reflect.ValueOf(target), reflect.ValueOf(sources)})
			if err, failed := results[len(results)-1].Interface().(error); failed {
				return nil, err
			}
			if isCyclic(target, map[uintptr]bool{}) {
				// The rendering ends here, so nothing sees the changed map.
				return nil, errors.New("merging maps: a map cannot be a part of itself")
			}
			return results[0].Interface(), nil
		}
	}
	return safe
}

// isCyclic reports whether a value has something in it that is a part of itself, or is one of the maps in which the
// value is.
func isCyclic(value any, outer map[uintptr]bool) bool {
	switch value := value.(type) {
	case map[string]any:
		pointer := reflect.ValueOf(value).Pointer()
		if outer[pointer] {
			return true
		}
		outer[pointer] = true
		defer delete(outer, pointer)
		for _, member := range value {
			if isCyclic(member, outer) {
				return true
			}
		}
	case []any:
		for _, member := range value {
			if isCyclic(member, outer) {
				return true
			}
		}
	}
	return false
}
