// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/spf13/cast"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
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

// toYaml returns YAML without the final line break.
func toYaml(value any) (string, error) {
	if err := CheckEncoding(value); err != nil {
		return "", err
	}
	raw, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(raw), "\n"), nil
}

// fromYaml returns a value of any type. Integers are int64, so that they render unchanged.
func fromYaml(text string) (any, error) {
	if err := manifest.CheckSize([]byte(text)); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return fromJSON(string(raw))
}

func toJSON(value any) (string, error) {
	raw, err := json.Marshal(value)
	return string(raw), err
}

func toPrettyJSON(value any) (string, error) {
	if err := CheckEncoding(value); err != nil {
		return "", err
	}
	raw, err := json.MarshalIndent(value, "", "  ")
	return string(raw), err
}

// toRawJSON does not escape HTML characters.
func toRawJSON(value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buffer.String(), "\n"), nil
}

func fromJSON(text string) (any, error) {
	var value any
	err := utiljson.Unmarshal([]byte(text), &value)
	return value, err
}

// arrayFrom returns a function that reads an array. Null is an empty one.
func arrayFrom(read func(text string) (any, error)) func(text string) ([]any, error) {
	return func(text string) ([]any, error) {
		value, err := read(text)
		if err != nil || value == nil {
			return nil, err
		}
		array, ok := value.([]any)
		if !ok {
			return nil, fmt.Errorf("it is not an array, but a %T", value)
		}
		return array, nil
	}
}
