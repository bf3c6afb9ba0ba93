package rawjson

import "testing"

func TestNodeSteps(t *testing.T) {
	n := &Node{}
	n.Child("a").At(0).Extend([]byte(`"x"`))
	n.Child("a").At(0).Extend([]byte(`"\ud83d"`))
	n.Child("a").At(0).Extend([]byte(`"\ude00"`))
	n.Child("a").At(1).Set([]byte("1.0"))
	if n.Child("a").At(3) != nil {
		t.Error("an element beyond the next")
	}
	n.Child("b").Set([]byte(`[{"c":1}]`))
	n.Child("b").At(0).Child("d").Extend([]byte(`""`))
	n.Child("c").Set([]byte("7"))
	n.Child("c").Extend([]byte(`"y"`))
	if got, want := string(n.JSON()), `{"a":["x\ud83d\ude00",1.0],"b":[{"c":1,"d":""}],"c":"y"}`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
