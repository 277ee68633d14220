// What is missing from what hosts tell, and why.

export function Notes({ notes }: { notes: readonly string[] | undefined }) {
  return (
    <>
      {notes?.map((note) => (
        <p key={note} class="dim" role="status">
          {note}
        </p>
      ))}
    </>
  );
}
