// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/spf13/cast"
)

// commonFunctions are available unless the options of a Set have other ones. The map must not be changed.
var commonFunctions = newCommonFunctions()

// Sprig returns the functions of sprig, with limits for what they generate, and without env, expandenv and
// getHostByName: authors of templates must not see the operator's environment, nor which names it can resolve, and even
// less the authors of texts that reach tpl.
func Sprig() template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	maps.Copy(functions, limitedFunctions(functions))
	return functions
}

func newCommonFunctions() template.FuncMap {
	functions := Sprig()
	for name, function := range map[string]any{
		"toYaml":        toYaml,
		"fromYaml":      fromYaml,
		"fromYamlArray": arrayFrom(fromYaml),
		"toJson":        toJSON,
		"toPrettyJson":  toPrettyJSON,
		"toRawJson":     toRawJSON,
		"fromJson":      fromJSON,
		"fromJsonArray": arrayFrom(fromJSON),
	} {
		functions[name] = function
		functions["must"+strings.ToUpper(name[:1])+name[1:]] = function
	}
	maps.Copy(functions, map[string]any{
		"required":          required,
		"bitwiseShiftLeft":  bitwiseShiftLeft,
		"bitwiseShiftRight": bitwiseShiftRight,
		"bitwiseAnd":        bitwiseAnd,
		"bitwiseOr":         bitwiseOr,
		"bitwiseXor":        bitwiseXor,
		"parseIPv4Address":  parseIPv4Address,
		"formatIPv4Address": formatIPv4Address,
	})
	maps.Copy(functions, acyclic(functions))
	return functions
}

// required returns the value, unless it is nil or the empty string.
func required(message string, value any) (any, error) {
	if text, isText := value.(string); value == nil || (isText && text == "") {
		return nil, errors.New(message)
	}
	return value, nil
}

func bitwiseShiftLeft(by any, value any) (uint64, error) {
	return combine(func(value, by uint64) uint64 { return value << by }, value, by)
}

func bitwiseShiftRight(by any, value any) (uint64, error) {
	return combine(func(value, by uint64) uint64 { return value >> by }, value, by)
}

// bitwiseAnd without arguments has all bits set.
func bitwiseAnd(values ...any) (uint64, error) {
	return combine(func(x, y uint64) uint64 { return x & y }, append([]any{uint64(math.MaxUint64)}, values...)...)
}

func bitwiseOr(values ...any) (uint64, error) {
	return combine(func(x, y uint64) uint64 { return x | y }, append([]any{0}, values...)...)
}

func bitwiseXor(values ...any) (uint64, error) {
	return combine(func(x, y uint64) uint64 { return x ^ y }, append([]any{0}, values...)...)
}

// combine applies an operation to the values from left to right. There is at least one value.
func combine(operation func(x, y uint64) uint64, values ...any) (uint64, error) {
	var result uint64
	for i, value := range values {
		number, err := cast.ToUint64E(value)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			result = number
		} else {
			result = operation(result, number)
		}
	}
	return result, nil
}

// parseIPv4Address returns the number of an address in dotted notation.
func parseIPv4Address(value any) (uint32, error) {
	text, err := cast.ToStringE(value)
	if err != nil {
		return 0, err
	}
	address, err := netip.ParseAddr(text)
	if err != nil || !address.Is4() {
		return 0, fmt.Errorf("%q is not an IPv4 address", text)
	}
	octets := address.As4()
	return binary.BigEndian.Uint32(octets[:]), nil
}

func formatIPv4Address(value any) (string, error) {
	number, err := cast.ToUint32E(value)
	if err != nil {
		return "", err
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number))).String(), nil
}
