// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
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
	// unitsPerByte is the cost of compiling one byte.
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

// Compile returns the expression with this text. Each text is compiled once. The error contains the position in the
// text, and the problem there. It is safe for concurrent use.
func Compile(text string) (*Expression, error) { return remember(text, true) }

// CompileValue is Compile for an expression of any type.
func CompileValue(text string) (*Expression, error) { return remember(text, false) }

// form is an expression, and whether it has to be a condition.
type form struct {
	text      string
	condition bool
}

func remember(text string, condition bool) (*Expression, error) {
	f := form{text, condition}
	if known, ok := compiled.Get(f); ok {
		return known.(*Expression), nil //nolint:forcetypeassert,errcheck // nothing else is added
	}
	expression, err := f.compile()
	if err != nil {
		return nil, err
	}
	compiled.Add(f, expression)
	return expression, nil
}

// CompileWithin is Compile, and charges the budget for a text that was not compiled recently.
func CompileWithin(text string, budget *Budget) (*Expression, error) {
	if _, known := compiled.Get(form{text, true}); !known && len(text) <= MaxLength {
		if err := budget.Spend(uint64(len(text)) * unitsPerByte); err != nil {
			return nil, err
		}
	}
	return Compile(text)
}

func (f form) compile() (compiled *Expression, err error) {
	defer func() {
		// cel-go panics if a constant map has a key of a type that no map can have, such as bytes.
		if reason := recover(); reason != nil {
			err = f.invalid(fmt.Sprintf("it cannot be compiled: %v", reason))
		}
	}()
	if len(f.text) > MaxLength {
		return nil, fmt.Errorf("invalid value of %d bytes; must be at most %d bytes", len(f.text), MaxLength)
	}
	if strings.TrimSpace(f.text) == "" {
		return nil, f.invalid("it is empty")
	}
	compiling.Lock()
	defer compiling.Unlock()
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	ast, issues := env.Compile(f.text)
	if err := issues.Err(); err != nil {
		return nil, f.invalid(position(issues.Errors()))
	}
	if f.condition && !ast.OutputType().IsExactType(types.BoolType) {
		return nil, f.invalid(fmt.Sprintf("it is of type %s", ast.OutputType()))
	}
	estimate, err := env.EstimateCost(ast, sizes{})
	if err != nil {
		return nil, fmt.Errorf("estimating the cost of the expression %q: %w", f.text, err)
	}
	if estimate.Max > maxEstimate {
		return nil, fmt.Errorf("invalid value %q: with lists of %d entries, it costs %d; must be at most %d, which is enough for two nested loops",
			f.text, assumedSize, estimate.Max, maxEstimate)
	}
	decorate, err := decorator()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	program, err := env.Program(ast, cel.CustomDecoratorV2(decorate), cel.EvalOptions(cel.OptOptimize), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return nil, f.invalid(err.Error())
	}
	return &Expression{text: f.text, program: program}, nil
}

func (f form) invalid(reason string) error {
	wanted := fmt.Sprintf("a CEL expression over %s", Variable)
	if f.condition {
		wanted += " that evaluates to true or false"
	}
	return fmt.Errorf("invalid value %q: %s; must be %s", f.text, reason, wanted)
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
	value, err := e.result(object, budget)
	if err != nil {
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("its value is of type %s, not bool", value.Type())
	}
	return holds, nil
}

// JSON returns the value of the expression for the object. Errors are those of Holds.
func (e *Expression) JSON(object *unstructured.Unstructured, budget *Budget) ([]byte, error) {
	value, err := e.result(object, budget)
	if err != nil {
		return nil, err
	}
	native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, fmt.Errorf("its value of type %s has no JSON form: %w", value.Type(), err)
	}
	return protojson.Marshal(native.(*structpb.Value)) //nolint:forcetypeassert,wrapcheck,errcheck // that was asked for
}

func (e *Expression) result(object *unstructured.Unstructured, budget *Budget) (ref.Val, error) {
	value, err := e.evaluate(object, budget)
	var canceled interpreter.EvalCancelledError
	switch {
	case errors.Is(err, interpreter.InterruptError{}):
		return nil, fmt.Errorf("%w: it takes longer than %s", ErrTooExpensive, budget.patience)
	case errors.As(err, &canceled):
		return nil, ErrTooExpensive
	case err != nil && isSecret(object) && !strings.HasPrefix(err.Error(), "no such key: "):
		return nil, errHidden
	}
	return value, err
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

// CEL charges a call after it has run, and equality by the number of entries. So the calls of an expression are
// replaced by calls that are charged before they run, by the data that they will read and return.

const (
	// maxPattern is the maximum length of a regular expression, in bytes. Its program has less than a hundred thousand
	// instructions.
	maxPattern = 512
	// maxKept is the maximum number of instructions of a regular expression that stays compiled. Larger ones are
	// compiled for each call, which is charged for it: a single expression has room for patterns that need 20 MB.
	maxKept = 100
	// timeZone is the cost of reading the data of a time zone.
	timeZone = 100
)

// work returns the cost of a call. It depends on the arguments alone.
func work(function string, args []ref.Val) uint64 {
	if function == (spending{}).Function() {
		units, _ := args[0].(types.Uint)
		return uint64(units)
	}
	if price, ok := prices[function]; ok {
		return 1 + price(args)
	}
	if len(args) == 2 && strings.HasPrefix(function, "get") {
		return timeZone
	}
	return 1 + total(args)
}

// prices are the costs of functions whose cost is not the size of their arguments.
var prices = map[string]func(args []ref.Val) uint64{
	// These compare each part of one argument with each part of the other.
	"indexOf": product, "lastIndexOf": product, "sets.contains": product, "sets.equivalent": product, "sets.intersects": product,
	"hasAll": product, "hasAny": product, "hasExactly": product, "hasOnly": product, operators.In: product, operators.OldIn: product,

	"cel.@mapInsert":        inserting,
	"distinct":              func(args []ref.Val) uint64 { return times(Size(args[0]), Size(args[0])) },
	"sort":                  sorting,
	"@sortByAssociatedKeys": sorting,
	"matches":               matching,
	"replace":               replacing,
	"split":                 func(args []ref.Val) uint64 { return total(args) + uint64(strings.Count(text(args[0]), text(args[1]))) },
	"join":                  joining,
	"lists.range":           counting,
}

func product(args []ref.Val) uint64 { return times(Size(args[0]), Size(args[1])) }

func sorting(args []ref.Val) uint64 { return times(total(args), uint64(bits.Len64(total(args)))) }

// inserting an entry into a map reads the keys of the map, and may copy it.
func inserting(args []ref.Val) uint64 {
	inserted := uint64(1)
	if len(args) == 2 {
		inserted = entries(args[1])
	}
	return times(inserted, entries(args[0])+inserted)
}

func counting(args []ref.Val) uint64 {
	count, _ := args[0].(types.Int)
	return uint64(max(count, 0))
}

func replacing(args []ref.Val) uint64 {
	count := uint64(strings.Count(text(args[0]), text(args[1])))
	return total(args) + times(count, uint64(len(text(args[2]))))/10
}

func joining(args []ref.Val) uint64 {
	if len(args) == 1 {
		return total(args)
	}
	return total(args) + times(Size(args[0]), uint64(len(text(args[1]))))/10
}

// matching returns the units for matching a text with a regular expression: each instruction may run at each position.
func matching(args []ref.Val) uint64 {
	pattern := text(args[1])
	if len(pattern) > maxPattern {
		return Full + 1
	}
	instructions, err := types.RegexProgramSize(pattern)
	if err != nil {
		return uint64(len(pattern))
	}
	return times(Size(args[0]), uint64(instructions))
}

func total(args []ref.Val) uint64 {
	sum := uint64(0)
	for _, arg := range args {
		sum += Size(arg)
	}
	return sum
}

// times is a product that does not overflow.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return Full + 1
}

// entries returns the number of entries of a list or map.
func entries(value ref.Val) uint64 {
	sized, ok := value.(traits.Sizer)
	if !ok {
		return 0
	}
	count, _ := sized.Size().(types.Int)
	return uint64(max(count, 0))
}

func text(value ref.Val) string {
	found, _ := value.(types.String)
	return string(found)
}

// call is a call that is charged before it runs.
type call struct {
	replaced interpreter.InterpretableCall
	args     []interpreter.InterpretableV2
	run      functions.FunctionOp
}

// ID implements interpreter.Interpretable.
func (c *call) ID() int64 { return c.replaced.ID() }

// Eval implements interpreter.Interpretable.
func (c *call) Eval(variables interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(variables, c.Exec)
}

// Exec implements interpreter.InterpretableV2.
func (c *call) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(c.args))
	for i, arg := range c.args {
		args[i] = arg.Exec(frame)
		if types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	if tracker := frame.CostTracker(); tracker != nil {
		tracker.EvalVarArgs(frame, c.ID(), c.replaced, args, nil)
	}
	return c.run(args...)
}

// literal is a list or map whose entries are charged before it is made.
type literal struct {
	interpreter.InterpretableV2
	entries int
}

// Exec implements interpreter.InterpretableV2.
func (l literal) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if tracker := frame.CostTracker(); tracker != nil {
		tracker.EvalUnary(frame, l.ID(), spending{}, types.Uint(l.entries), nil)
	}
	return l.InterpretableV2.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (l literal) Eval(variables interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(variables, l.Exec)
}

// newDecorator returns a decorator that replaces the calls and literals of an expression.
func newDecorator() (interpreter.InterpretableDecoratorV2, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	known := map[string]functions.FunctionOp{}
	for name, function := range env.Functions() {
		bindings, err := function.Bindings()
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", name, err)
		}
		for _, binding := range bindings {
			if !binding.NonStrict {
				known[binding.Operator] = implementation(binding)
			}
		}
	}
	// CEL has no functions for these.
	known[operators.Equals] = func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	known[operators.NotEquals] = func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	return func(planned interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch planned := planned.(type) {
		case interpreter.InterpretableCall:
			run := known[planned.OverloadID()]
			if run == nil {
				run = known[planned.Function()]
			}
			if planned.Function() == "matches" {
				var err error
				if run, err = matcher(planned.Args()[1], run); err != nil {
					return nil, err
				}
			}
			if run != nil {
				return &call{replaced: planned, args: planned.Args(), run: run}, nil
			}
		case interpreter.InterpretableConstructor:
			for _, value := range planned.InitVals() {
				if _, isConstant := value.(interpreter.InterpretableConst); !isConstant {
					return literal{InterpretableV2: planned, entries: len(planned.InitVals())}, nil
				}
			}
		}
		return planned, nil
	}, nil
}

// implementation returns the function that CEL runs for a strict function.
func implementation(binding *functions.Overload) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		switch {
		case binding.OperandTrait != 0 && !args[0].Type().HasTrait(binding.OperandTrait):
		case len(args) == 1 && binding.Unary != nil:
			return binding.Unary(args[0])
		case len(args) == 2 && binding.Binary != nil:
			return binding.Binary(args[0], args[1])
		case binding.Function != nil:
			return binding.Function(args...)
		}
		return types.NewErr("no such overload: %s", binding.Operator)
	}
}

// matcher returns a function that matches with a constant regular expression, which is compiled once; for others, and
// for large ones, it returns the usual function.
func matcher(pattern interpreter.InterpretableV2, usual functions.FunctionOp) (functions.FunctionOp, error) {
	constant, ok := pattern.(interpreter.InterpretableConst)
	if !ok {
		return usual, nil
	}
	expression := text(constant.Value())
	if len(expression) > maxPattern {
		return nil, fmt.Errorf("the regular expression has %d bytes; must have at most %d", len(expression), maxPattern)
	}
	instructions, err := types.RegexProgramSize(expression)
	if err != nil {
		return nil, err //nolint:wrapcheck // the message has the expression
	}
	if instructions > maxKept {
		return usual, nil
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, err //nolint:wrapcheck // the message has the expression
	}
	return func(args ...ref.Val) ref.Val {
		value, ok := args[0].(types.String)
		if !ok {
			return types.NewErr("no such overload: matches")
		}
		return types.Bool(compiled.MatchString(string(value)))
	}, nil
}

// sizes estimates the sizes of the lists, maps and texts of an object, which has no schema here.
type sizes struct{}

// EstimateSize returns assumedSize for values from the object.
func (sizes) EstimateSize(element cost.AstNode) *cost.SizeEstimate {
	if computed := element.ComputedSize(); computed != nil {
		return computed
	}
	return &cost.SizeEstimate{Min: 0, Max: assumedSize}
}

// EstimateCallCost leaves the cost of functions to CEL, except for the size of the content of an optional value.
func (sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	if function == "orValue" || function == "value" {
		return &cost.CallEstimate{CostEstimate: cost.FixedCostEstimate(1), ResultSize: &cost.SizeEstimate{Min: 0, Max: assumedSize}}
	}
	return nil
}

const (
	// Brief is the limit for code that others wait for: about a millisecond. Most conditions cost less than a hundredth
	// of it.
	Brief = 10_000
	// Full is the limit for one object: a tenth of a second, and at most a hundred megabytes.
	Full = 1_000_000

	// patience is the maximum duration of one evaluation. It matters only if a function costs more time than it is
	// charged for.
	patience = 5 * time.Second
	// interruptEvery is the number of iterations between two looks at the clock.
	interruptEvery = 100
)

// ErrTooExpensive means that an evaluation was ended because it costs too much.
var ErrTooExpensive = errors.New("costs too much for this object")

// Budget limits the total cost of several evaluations, in the units of CEL: one for each field, value and call, and one
// for each ten bytes of text that a call reads or returns. It is not safe for concurrent use.
type Budget struct {
	tracker  *cost.Tracker
	limit    uint64
	patience time.Duration
}

// NewBudget returns a Budget with this limit.
func NewBudget(limit uint64) *Budget {
	tracker := *unlimited()
	tracker.Limit = &limit
	return &Budget{tracker: &tracker, limit: limit, patience: patience}
}

// unlimited is the tracker from which the trackers of all budgets are copied.
var unlimited = sync.OnceValue(func() *cost.Tracker {
	tracker, _ := cost.NewTracker(charges{}) // only options cause errors
	return tracker
})

// Spend takes units for work that is about to be done. The error is ErrTooExpensive.
func (b *Budget) Spend(units uint64) error {
	if units > b.limit || b.tracker.ActualCost() > b.limit-units {
		b.charge(b.limit + 1) // nothing is left for others
		return ErrTooExpensive
	}
	b.charge(units)
	return nil
}

func (b *Budget) charge(units uint64) {
	defer func() { _ = recover() }() // the tracker panics if the limit is exceeded
	b.tracker.EvalUnary(nil, 0, spending{}, types.Uint(units), nil)
}

// Size returns the number of units for reading a value, with all its content.
func Size(value any) uint64 { return uint64(calculator.AggregateSize(value)) }

// calculator counts as Budget does. It stops at values that are beyond Full.
var calculator = types.NewSizeCalculator(types.SizeCalculatorMaxDepth(100), types.SizeCalculatorMaxTraversal(Full))

// charges has the costs of all calls.
type charges struct{}

// CallCost implements cost.ActualCostEstimator.
func (charges) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	charge := work(function, args)
	return &charge
}

// spending is the call of a function whose argument is its cost.
type spending struct{}

func (spending) Function() string   { return "@spend" }
func (spending) OverloadID() string { return "" }
