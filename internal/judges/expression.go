// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"
)

const (
	// MaxLength is the maximum length of an expression, in bytes.
	MaxLength = 4096
	// maxEstimate is the maximum estimated cost of an expression, if all lists and maps of the object have assumedSize
	// entries. That allows two nested loops, but not three.
	maxEstimate = 10_000_000
	// assumedSize is the assumed number of entries of the lists and maps of an object, and of characters of its texts.
	assumedSize = 200
	// maxDepth is the maximum depth of an expression. The types of nested lists and maps cost memory that grows with
	// the square of their depth.
	maxDepth = 30
	// unitsPerByte is what compiling costs for each byte.
	unitsPerByte = 20
	// remembered is the number of compiled expressions that are kept.
	remembered = 1000
)

// Variable is the name of the object in an expression.
const Variable = "self"

// errHidden replaces errors that may contain values of a Secret.
var errHidden = errors.New("the reason is not shown, because the object is a Secret")

// Expression is a compiled condition. It is safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
}

var (
	compiled    = lru.New(remembered)
	environment = sync.OnceValues(newEnvironment)
	decorator   = sync.OnceValues(newDecorator)
	// compiling guards the environment while an expression is compiled. The first unknown name makes cel-go fill in a
	// field of the environment, for the suggestions in its message, and each comprehension copies this field without a
	// lock. Evaluation does not use the environment.
	compiling sync.Mutex
)

// Compile returns the expression with this text. Each text is compiled once. The error names the position in the text,
// and what is wrong there. It is safe for concurrent use.
func Compile(text string) (*Expression, error) {
	if known, ok := compiled.Get(text); ok {
		return known.(*Expression), nil //nolint:forcetypeassert,errcheck // nothing else is added
	}
	expression, err := compile(text)
	if err != nil {
		return nil, err
	}
	compiled.Add(text, expression)
	return expression, nil
}

// CompileWithin is Compile, and charges the budget for a text that was not compiled recently.
func CompileWithin(text string, budget *Budget) (*Expression, error) {
	if _, known := compiled.Get(text); !known && len(text) <= MaxLength {
		if err := budget.Spend(uint64(len(text)) * unitsPerByte); err != nil {
			return nil, err
		}
	}
	return Compile(text)
}

func compile(text string) (compiled *Expression, err error) {
	defer func() {
		// cel-go panics if a constant map has a key of a type that no map can have, such as bytes.
		if reason := recover(); reason != nil {
			err = invalid(text, fmt.Sprintf("it cannot be compiled: %v", reason))
		}
	}()
	if len(text) > MaxLength {
		return nil, fmt.Errorf("invalid value of %d bytes; must be at most %d bytes", len(text), MaxLength)
	}
	if strings.TrimSpace(text) == "" {
		return nil, invalid(text, "it is empty")
	}
	compiling.Lock()
	defer compiling.Unlock()
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, invalid(text, position(issues.Errors()))
	}
	if !ast.OutputType().IsExactType(types.BoolType) {
		return nil, invalid(text, fmt.Sprintf("it is of type %s", ast.OutputType()))
	}
	estimate, err := env.EstimateCost(ast, sizes{})
	if err != nil {
		return nil, fmt.Errorf("estimating the cost of the expression %q: %w", text, err)
	}
	if estimate.Max > maxEstimate {
		return nil, fmt.Errorf("invalid value %q: with lists of %d entries, it costs %d; must be at most %d, which is enough for two nested loops",
			text, assumedSize, estimate.Max, maxEstimate)
	}
	decorate, err := decorator()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	program, err := env.Program(ast, cel.CustomDecoratorV2(decorate), cel.EvalOptions(cel.OptOptimize), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return nil, invalid(text, err.Error())
	}
	return &Expression{text: text, program: program}, nil
}

func invalid(text string, reason string) error {
	return fmt.Errorf("invalid value %q: %s; must be a CEL expression over %s that evaluates to true or false", text, reason, Variable)
}

// position returns the first of several errors, with its position. The others usually follow from it.
func position(found []*common.Error) string {
	first := found[0]
	if strings.Contains(first.Message, "depth exceeded") {
		return fmt.Sprintf("it is nested more than %d levels deep", maxDepth)
	}
	return fmt.Sprintf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, first.Message)
}

// String returns the text of the expression.
func (e *Expression) String() string { return e.text }

// Holds reports whether the expression is true for the object, which is not changed. An error means that there is no
// answer, for example because a field is missing, because it is no bool, or because the budget does not suffice; then
// the error wraps ErrTooExpensive. It contains no values of Secrets.
func (e *Expression) Holds(object *unstructured.Unstructured, budget *Budget) (bool, error) {
	value, err := e.evaluate(object, budget)
	var canceled interpreter.EvalCancelledError
	switch {
	case errors.Is(err, interpreter.InterruptError{}):
		return false, fmt.Errorf("%w: it takes longer than %s", ErrTooExpensive, budget.patience)
	case errors.As(err, &canceled):
		return false, ErrTooExpensive
	case err != nil && isSecret(object) && !strings.HasPrefix(err.Error(), "no such key: "):
		return false, errHidden
	case err != nil:
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("its value is of type %s, not bool", value.Type())
	}
	return holds, nil
}

func (e *Expression) evaluate(object *unstructured.Unstructured, budget *Budget) (ref.Val, error) {
	frame, err := interpreter.NewExecutionFrame(map[string]any{Variable: object.Object})
	if err != nil {
		return nil, err //nolint:wrapcheck // callers say which expression
	}
	defer frame.Close()
	if budget.limit > Brief {
		// The others end before a clock would matter.
		ctx, cancel := context.WithTimeout(context.Background(), budget.patience)
		defer cancel()
		if err := frame.SetContext(ctx, interruptEvery); err != nil {
			return nil, err //nolint:wrapcheck // callers say which expression
		}
	}
	frame.SetCostTracker(budget.tracker)
	value, _, err := e.program.Eval(frame)
	return value, err //nolint:wrapcheck // callers say which expression
}

func isSecret(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

func newDecorator() (interpreter.InterpretableDecoratorV2, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	return charged(env)
}

func newEnvironment() (*cel.Env, error) {
	return cel.NewEnv( //nolint:wrapcheck // the caller wraps it
		cel.Variable(Variable, cel.DynType),
		cel.ParserRecursionLimit(maxDepth),
		cel.ExpressionNestingDepthLimit(maxDepth),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		ext.Strings(), ext.Lists(), ext.Sets(), ext.Math(), ext.TwoVarComprehensions(),
	)
}
