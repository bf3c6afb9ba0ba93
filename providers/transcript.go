package providers

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Heading describes a conversation in a list.
type Heading struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Provider string    `json:"provider,omitempty"` // the name of the candidate used last
	Model    string    `json:"model,omitempty"`
	System   string    `json:"system,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
}

// A Transcript is a conversation as data. Its JSON has a "version" and the members of Heading
// and Run.
type Transcript struct {
	Heading
	Run
}

// transcriptJSON is the JSON of a Transcript.
type transcriptJSON struct {
	Version string `json:"version"`
	*Heading
	*plainRun
}

// MarshalJSON writes the transcript with its version.
func (t *Transcript) MarshalJSON() ([]byte, error) {
	return marshal(transcriptJSON{formatVersion, &t.Heading, t.plain()})
}

// UnmarshalJSON reads the JSON of MarshalJSON, of a known version, and repairs it as
// [Run.UnmarshalJSON] does.
func (t *Transcript) UnmarshalJSON(data []byte) error {
	if err := checkVersion("conversation", data); err != nil {
		return err
	}
	var read Transcript
	if err := json.Unmarshal(data, &transcriptJSON{Heading: &read.Heading, plainRun: (*plainRun)(&read.Run)}); err != nil {
		return fmt.Errorf("conversation: %w", err)
	}
	if err := read.normalize(); err != nil {
		return fmt.Errorf("conversation: %w", err)
	}
	*t = read
	return nil
}
